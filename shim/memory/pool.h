/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory pools: allocations and releases that are ordered in streams. Any thread.
 */
#ifndef SHIM_MEMORY_POOL_H
#define SHIM_MEMORY_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/cuda/cuda_abi.h"
#include "shim/memory/mem.h"

/* Where a pool's memory is. That of the host and managed memory lie in the host window: kernels and
 * the program use it in place. */
enum pool_home { POOL_OF_DEVICE, POOL_OF_HOST, POOL_MANAGED, POOL_HOMES };

/* A block that `stream` may use, from a pool or, for NULL, from the device's chosen one.
 * CUDA_ERROR_OUT_OF_MEMORY may be cured by pool_reclaim_all. */
CUresult pool_take(CUmemoryPool handle, uint64_t bytes, const struct mem_place *place,
                   uint32_t stream, uint64_t *addr);

/* Takes a MEM_POOLED block back; its last use is `seq` of `stream` (seq 0: it is complete). */
CUresult pool_give(const struct mem_block *b, uint32_t stream, uint64_t seq);
/* As pool_give, of a MEM_PLAIN block: its memory is nobody's when that is complete. */
CUresult pool_give_plain(const struct mem_block *b, uint32_t stream, uint64_t seq);

/* Gives the memory of complete blocks back: all of it, and true when there was any; or what is
 * beyond each pool's release threshold, as CUDA does at synchronisations. */
bool pool_reclaim_all(void);
void pool_release_threshold(void);

/* The context ended: its pools' kept blocks are freed by mem_release. */
void pool_release(uint32_t owner);

/* `props`, checked: how much may be out at a time, 0 for no bound; by which handles other processes
 * may have it; the place that it is asked for. NULL when there are too many. */
CUmemoryPool pool_create(enum pool_home home, const CUmemPoolProps *props);
/* Another process's, which has this key: nothing is allocated from it here. */
CUmemoryPool pool_import(const uint64_t *key);
/* What tells it from all others, everywhere; false for what is none, or cannot be had by others. */
bool pool_key(CUmemoryPool handle, uint64_t *key);
bool pool_imported(CUmemoryPool handle, uint64_t *key);
/* False for what is no pool, or one that there always is. */
bool pool_destroy(CUmemoryPool handle);
/* Releases complete blocks until at most `keep` bytes are reserved. Returns false if `handle` names
 * no pool. */
bool pool_trim(CUmemoryPool handle, uint64_t keep);
bool pool_known(CUmemoryPool handle);

/* The one that there always is for a home, and the one that the program chose for allocations that
 * name none; only one of that home can be. */
CUmemoryPool pool_default(enum pool_home home);
CUmemoryPool pool_chosen(enum pool_home home);
bool pool_choose(enum pool_home home, CUmemoryPool handle);

/* POOL_HOMES for what is no pool. */
enum pool_home pool_home(CUmemoryPool handle);

/* Whether the program says that the device uses a pool of the host's; it can in any case. */
bool pool_let_device(CUmemoryPool handle, bool let);
bool pool_lets_device(CUmemoryPool handle);

/* 32 or 64 bits, by attribute. CUDA_ERROR_INVALID_VALUE for what is no pool or attribute. */
CUresult pool_set(CUmemoryPool handle, CUmemPool_attribute attr, const void *value);
CUresult pool_get(CUmemoryPool handle, CUmemPool_attribute attr, void *value);

CUmemoryPool pool_handle_of(uint32_t index);
unsigned int pool_types_of(uint32_t index);
/* As pool_lets_device, of a block's pool. */
bool pool_shows_device(uint32_t index);
/* Whether a block is managed memory: allocated so, or of such a pool. */
bool pool_is_managed(const struct mem_block *b);

#endif
