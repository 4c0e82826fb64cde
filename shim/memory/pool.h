/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory pools: allocations and releases that are ordered in streams. Any thread.
 */
#ifndef SHIM_MEMORY_POOL_H
#define SHIM_MEMORY_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/cuda_abi.h"
#include "shim/memory/mem.h"

/* Takes a MEM_POOLED block back; its last use is `seq` of `stream` (seq 0: it is complete). */
CUresult pool_give(const struct mem_block *b, uint32_t stream, uint64_t seq);

/* Gives the memory of complete blocks back: all of it, and true when there was any; or what is
 * beyond each pool's release threshold, as CUDA does at synchronisations. */
bool pool_reclaim_all(void);
void pool_release_threshold(void);

/* The context ended: its pools' kept blocks are freed by mem_release. */
void pool_release(uint32_t owner);

CUmemoryPool pool_handle_of(uint32_t index);

#endif
