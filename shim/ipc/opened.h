/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory of the user's other processes, opened by its key. Each allocation is mapped once for each
 * context, however often it is opened. Any thread.
 */
#ifndef SHIM_IPC_OPENED_H
#define SHIM_IPC_OPENED_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/cuda/cuda_abi.h"

/* The description of memory that another process may open: at most 64 bytes, in CUDA's handles. */
struct opened_handle {
    uint32_t magic;
    uint32_t job; /* the job that owns the memory */
    uint64_t key[2];
    uint64_t offset, bytes; /* the block's range in the allocation that the key opens */
    uint64_t pool[2];       /* the pool of the block; zeros: none */
};
_Static_assert(sizeof(struct opened_handle) <= CU_IPC_HANDLE_SIZE, "it fits CUDA's handles");

/* Describes the whole block that contains `addr` for other processes, as CUDA's driver does.
 * CUDA_ERROR_INVALID_VALUE: no block of cuMemAlloc contains it. */
CUresult opened_describe(uint64_t addr, struct opened_handle *out);
/* Returns false for bytes that no process of Salus has written. */
bool opened_valid(const struct opened_handle *h);

/* Describes a block of a pool that other processes have (pool.h). */
CUresult opened_describe_pooled(uint64_t addr, struct opened_handle *out);

/* Opens the block and returns its address here. Its memory stays until it is given back as often as
 * it was taken, even after the owner's process has ended. CUDA_ERROR_MAP_FAILED: it was freed, or
 * belongs to another user; CUDA_ERROR_INVALID_VALUE: the block does not lie in the allocation.
 * `owner`: index of the context. */
CUresult opened_take(const struct opened_handle *h, uint32_t owner, uint64_t *addr);
/* Gives a block back. `pooled`: it was opened as the block of a pool. False when no such block is
 * open. */
bool opened_give(uint64_t addr, bool pooled);

/* Closes everything that was opened in a context that ended. */
void opened_release(uint32_t owner);

#endif
