/* SPDX-License-Identifier: Apache-2.0
 *
 * What a program said of its managed memory (cuMemAdvise, cuMemPrefetchAsync), to be told again.
 * Nothing goes by it: host and device use one copy. Any thread.
 */
#ifndef SHIM_MEMORY_HINTS_H
#define SHIM_MEMORY_HINTS_H

#include <stdbool.h>
#include <stdint.h>

enum hint {
    HINT_READ_MOSTLY, /* 1: it is */
    HINT_DEVICE_USES, /* 1: it does */
    HINT_HOST_USES,
    HINT_PREFERRED, /* a place, as the caller writes it */
    HINT_PREFETCHED,
    HINT_KINDS
};

/* 0, or -ENOMEM with nothing changed. What was never set is 0. */
int hints_set(uint64_t addr, uint64_t bytes, enum hint kind, uint64_t value);
/* False when the range has more than one value. */
bool hints_get(uint64_t addr, uint64_t bytes, enum hint kind, uint64_t *value);
/* The range is another block's from now on. */
void hints_forget(uint64_t addr, uint64_t bytes);

#endif
