/* SPDX-License-Identifier: Apache-2.0
 *
 * Host memory that the program registered itself. It stays the program's own, and copies treat it
 * as pageable, until the device is to see it: then pieces of the host window stand for its pages
 * (shadow.h, docs/adr/0015-registered-memory.md), and it is pinned memory of two addresses. Any
 * thread.
 */
#ifndef SHIM_HOST_MEMORY_REGISTERED_H
#define SHIM_HOST_MEMORY_REGISTERED_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/cuda/cuda_abi.h"

struct registered_range {
    uint64_t addr, bytes;
    unsigned int flags;
    uint64_t device; /* where the device sees addr; 0: it does not */
};

/* Of that which contains an address of the program's, or of the device's. */
bool registered_find(uint64_t addr, struct registered_range *out);
bool registered_find_device(uint64_t device, struct registered_range *out);

/* CUDA_ERROR_INVALID_VALUE for memory that is not there, or is read-only and not registered so. */
CUresult registered_add(uint64_t addr, uint64_t bytes, unsigned int flags);

/* Lets the device see the range that contains `addr`, if that is safe: `out` is what it is then.
 * Waits up to `patience_ns` for threads of the program that may sleep soon. NULL, or why it is
 * not. */
const char *registered_show(uint64_t addr, uint64_t patience_ns, struct registered_range *out);

/* Where the device sees all of [addr, addr + bytes), of one range; 0: nowhere. */
uint64_t registered_device(uint64_t addr, uint64_t bytes);

/* False when none begins there. The device is done with it. */
bool registered_remove(uint64_t addr);

/* The primary context ended. */
void registered_clear(void);

#endif
