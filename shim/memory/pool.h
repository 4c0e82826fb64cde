/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory pools: stream-ordered allocations and frees. Any thread.
 */
#ifndef SHIM_MEMORY_POOL_H
#define SHIM_MEMORY_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/cuda/cuda_abi.h"
#include "shim/memory/mem.h"

/* The home of a pool's memory. Memory of host and managed pools lies in the host window: kernels
 * and the program use it in place. */
enum pool_home { POOL_OF_DEVICE, POOL_OF_HOST, POOL_MANAGED, POOL_HOMES };

/* Takes a block that `stream` may use, from a pool or, for NULL, from the device's current one.
 * After CUDA_ERROR_OUT_OF_MEMORY, pool_reclaim_all may help. CUDA_ERROR_INVALID_VALUE: the handle
 * is invalid, or the pool was imported. */
CUresult pool_take(CUmemoryPool handle, uint64_t bytes, const struct mem_place *place,
                   uint32_t stream, uint64_t *addr);

/* Takes a MEM_POOLED block back; its last use is `seq` of `stream` (seq 0: it is complete). */
CUresult pool_give(const struct mem_block *b, uint32_t stream, uint64_t seq);
/* Does the same for a MEM_PLAIN block: its memory is freed when that use is complete. */
CUresult pool_give_plain(const struct mem_block *b, uint32_t stream, uint64_t seq);

/* Free kept blocks whose last use is complete: pool_reclaim_all frees all of them, and returns true
 * when there was any; pool_release_threshold frees what exceeds each pool's release threshold, as
 * CUDA does at synchronisations. */
bool pool_reclaim_all(void);
void pool_release_threshold(void);

/* Called when a context has ended. The primary context owns all pools, which end with it;
 * mem_release frees their kept blocks. */
void pool_release(uint32_t owner);

/* Creates a pool. `props`, checked: the most bytes in use at a time, 0 for no limit; the handle
 * types by which other processes may have it; its place. NULL when there are too many. */
CUmemoryPool pool_create(enum pool_home home, const CUmemPoolProps *props);
/* Imports another process's pool by its key. This process does not allocate from it. */
CUmemoryPool pool_import(const uint64_t *key);
/* Returns the key that identifies the pool in all processes; false for an invalid handle, and for a
 * pool that is not exportable (or imported). */
bool pool_key(CUmemoryPool handle, uint64_t *key);
bool pool_imported(CUmemoryPool handle, uint64_t *key);
/* Returns false for an invalid handle and for a default pool. */
bool pool_destroy(CUmemoryPool handle);
/* Frees kept blocks whose last use is complete until at most `keep` bytes are reserved, or none is
 * left. Returns false if `handle` names no pool. */
bool pool_trim(CUmemoryPool handle, uint64_t keep);
bool pool_known(CUmemoryPool handle);

/* The default pool of a home, and the current pool, which allocations without a pool use;
 * pool_choose accepts only a pool of that home that was not imported. */
CUmemoryPool pool_default(enum pool_home home);
CUmemoryPool pool_chosen(enum pool_home home);
bool pool_choose(enum pool_home home, CUmemoryPool handle);

/* Returns POOL_HOMES for an invalid handle. */
enum pool_home pool_home(CUmemoryPool handle);

/* The device's access to a host pool as the program set it. The device can access the memory in any
 * case. */
bool pool_let_device(CUmemoryPool handle, bool let);
bool pool_lets_device(CUmemoryPool handle);

/* Set or get 32 or 64 bits, by attribute. CUDA_ERROR_INVALID_VALUE for an invalid pool or
 * attribute. */
CUresult pool_set(CUmemoryPool handle, CUmemPool_attribute attr, const void *value);
CUresult pool_get(CUmemoryPool handle, CUmemPool_attribute attr, void *value);

CUmemoryPool pool_handle_of(uint32_t index);
unsigned int pool_types_of(uint32_t index);
/* Works like pool_lets_device, for a block's pool. */
bool pool_shows_device(uint32_t index);
/* True for managed memory: allocated as such, or from a managed pool. */
bool pool_is_managed(const struct mem_block *b);

#endif
