/* SPDX-License-Identifier: Apache-2.0
 *
 * Blocks at reserved addresses whose memory is managed elsewhere: device memory that graphs
 * allocate. Any thread.
 */
#ifndef SHIM_MEMORY_PLACED_H
#define SHIM_MEMORY_PLACED_H

#include "shim/memory/mem.h"

/* Adds a block, or gives CUDA_ERROR_OUT_OF_MEMORY. */
CUresult placed_add(uint64_t addr, uint64_t bytes, uint32_t owner);
/* Removes all blocks in this range. */
void placed_remove(uint64_t addr, uint64_t bytes);
/* Finds the block that contains `addr`; its kind is MEM_GRAPH. */
bool placed_find(uint64_t addr, struct mem_block *out);

#endif
