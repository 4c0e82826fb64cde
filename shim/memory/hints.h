/* SPDX-License-Identifier: Apache-2.0
 *
 * The program's hints about its managed memory (cuMemAdvise, cuMemPrefetchAsync), stored to be
 * reported. They have no effect: host and device use one copy. Any thread.
 */
#ifndef SHIM_MEMORY_HINTS_H
#define SHIM_MEMORY_HINTS_H

#include <stdbool.h>
#include <stdint.h>

enum hint {
    HINT_READ_MOSTLY, /* 1: set */
    HINT_DEVICE_USES, /* 1: set */
    HINT_HOST_USES,
    HINT_PREFERRED, /* a place, in the caller's encoding */
    HINT_PREFETCHED,
    HINT_KINDS
};

/* Sets a hint; 0, or -ENOMEM with nothing changed. The value of a hint that was never set is 0. */
int hints_set(uint64_t addr, uint64_t bytes, enum hint kind, uint64_t value);
/* Returns false when the range has more than one value. */
bool hints_get(uint64_t addr, uint64_t bytes, enum hint kind, uint64_t *value);
/* Removes the hints of a range that belongs to a new block from now on. */
void hints_forget(uint64_t addr, uint64_t bytes);

#endif
