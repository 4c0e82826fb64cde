/* SPDX-License-Identifier: Apache-2.0
 *
 * Host memory that the program registered itself. It cannot be seen by the device: the worker is
 * another process. Registering it only remembers the range; copies treat it as pageable.
 */
#ifndef SHIM_MEMORY_HOSTMEM_H
#define SHIM_MEMORY_HOSTMEM_H

#include <stdbool.h>
#include <stdint.h>

struct hostmem_range {
    uint64_t addr, bytes;
    unsigned int flags;
};

bool hostmem_find(uint64_t addr, struct hostmem_range *out);

/* The context ended: with the primary one, every registration. */
void hostmem_release(uint32_t owner);

#endif
