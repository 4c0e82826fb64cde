/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory of other processes of the user, opened by its key: an allocation at addresses of its own,
 * once however often it is opened. Any thread.
 */
#ifndef SHIM_IPC_OPENED_H
#define SHIM_IPC_OPENED_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/cuda/cuda_abi.h"

/* What a process is told of memory that it may open: 64 bytes, in CUDA's handles. */
struct opened_handle {
    uint32_t magic;
    uint32_t job; /* whose it is */
    uint64_t key[2];
    uint64_t offset, bytes; /* of the block in what the key opens */
    uint64_t pool[2];       /* the pool that it is of; zeros: none */
};
_Static_assert(sizeof(struct opened_handle) <= CU_IPC_HANDLE_SIZE, "it fits CUDA's handles");

/* Describes to other processes the whole block that contains `addr`, as CUDA's driver does.
 * CUDA_ERROR_INVALID_VALUE: no block of cuMemAlloc contains it. */
CUresult opened_describe(uint64_t addr, struct opened_handle *out);
/* False for what no process of ours has written. */
bool opened_valid(const struct opened_handle *h);

/* The block of a pool that other processes have (pool.h). */
CUresult opened_describe_pooled(uint64_t addr, struct opened_handle *out);

/* Where the block is here. Its memory stays until it is given as often as it was taken, whatever
 * becomes of the process whose it is. CUDA_ERROR_MAP_FAILED: it is gone, or another user's.
 * `owner`: index of the context. */
CUresult opened_take(const struct opened_handle *h, uint32_t owner, uint64_t *addr);
/* False where nothing was opened, or not as the block of a pool (or as one). */
bool opened_give(uint64_t addr, bool pooled);

/* The context ended: what was opened in it is closed. */
void opened_release(uint32_t owner);

#endif
