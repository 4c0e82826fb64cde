/* SPDX-License-Identifier: Apache-2.0
 *
 * Blocks at reserved addresses, whose memory comes and goes without them: what graphs allocate on
 * the device. Any thread.
 */
#ifndef SHIM_MEMORY_PLACED_H
#define SHIM_MEMORY_PLACED_H

#include "shim/memory/mem.h"

/* CUDA_ERROR_OUT_OF_MEMORY. */
CUresult placed_add(uint64_t addr, uint64_t bytes, uint32_t owner);
/* All that are in this range. */
void placed_remove(uint64_t addr, uint64_t bytes);
/* The block that contains `addr`; MEM_GRAPH. */
bool placed_find(uint64_t addr, struct mem_block *out);

#endif
