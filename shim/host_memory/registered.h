/* SPDX-License-Identifier: Apache-2.0
 *
 * Host memory that the program registered itself. It stays the program's own, and copies treat it
 * as pageable, until it is mapped for the device. Then pieces of the host window replace its pages
 * (shadow.h, docs/adr/0015-registered-memory.md), or the device maps the file that other processes
 * map too (share.h), and it is pinned memory with two addresses. Any thread.
 */
#ifndef SHIM_HOST_MEMORY_REGISTERED_H
#define SHIM_HOST_MEMORY_REGISTERED_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/cuda/cuda_abi.h"

struct registered_range {
    uint64_t addr, bytes;
    unsigned int flags;
    uint64_t device; /* address on the device; 0: not mapped there */
};

/* Find the range that contains an address of the program, or of the device. */
bool registered_find(uint64_t addr, struct registered_range *out);
bool registered_find_device(uint64_t device, struct registered_range *out);

/* Registers a range. CUDA_ERROR_INVALID_VALUE for memory that does not exist, or is read-only and
 * not registered as such; CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED; CUDA_ERROR_OUT_OF_MEMORY. */
CUresult registered_add(uint64_t addr, uint64_t bytes, unsigned int flags);

/* Maps the range that contains `addr` for the device, if that is safe, and describes it in `out`.
 * Waits up to `patience_ns` for threads of the program that may sleep soon. NULL, or the reason for
 * failure. */
const char *registered_show(uint64_t addr, uint64_t patience_ns, struct registered_range *out);

/* Returns the device's address of [addr, addr + bytes), if one range contains all of it; else 0. */
uint64_t registered_device(uint64_t addr, uint64_t bytes);

/* Removes a range; false when none begins there. The device must have finished with it. */
bool registered_remove(uint64_t addr);

/* Removes all ranges when the primary context ended. */
void registered_clear(void);

#endif
