/* SPDX-License-Identifier: Apache-2.0
 *
 * Host memory that the program registered itself. It cannot be seen by the device: the worker is
 * another process. Registering it only remembers the range; copies treat it as pageable.
 */
#ifndef SHIM_MEMORY_HOSTMEM_H
#define SHIM_MEMORY_HOSTMEM_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/cuda_abi.h"

struct hostmem_range {
    uint64_t addr, bytes;
    unsigned int flags;
};

bool hostmem_find(uint64_t addr, struct hostmem_range *out);

CUresult hostmem_add(uint64_t addr, uint64_t bytes, unsigned int flags);

/* False when none begins there. */
bool hostmem_remove(uint64_t addr);

/* The primary context ended. */
void hostmem_clear(void);

#endif
