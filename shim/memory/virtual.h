/* SPDX-License-Identifier: Apache-2.0
 *
 * Addresses that the program reserved, and what of them shows allocations: CUDA's virtual memory
 * management. What may be accessed is shown by the worker; what is only mapped is known here alone.
 * Errors are CUDA's. Any thread.
 */
#ifndef SHIM_MEMORY_VIRTUAL_H
#define SHIM_MEMORY_VIRTUAL_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/cuda/cuda_abi.h"
#include "shim/memory/mem.h"

/* Whole pages of the host, at a multiple of `align` (a power of two, 0: none), if possible at
 * `want`. Given back as it was reserved, with nothing mapped there. */
CUresult virtual_reserve(uint64_t bytes, uint64_t align, uint64_t want, uint64_t *addr);
CUresult virtual_release(uint64_t addr, uint64_t bytes);

/* The allocation's first bytes, in whole granules of one reservation of which nothing is mapped;
 * not accessible yet. One or several whole mappings that follow each other are unmapped. */
CUresult virtual_map(uint64_t addr, uint64_t bytes, CUmemGenericAllocationHandle handle);
CUresult virtual_unmap(uint64_t addr, uint64_t bytes);

/* Whole mappings that follow each other: they can be read and written, or not. */
CUresult virtual_access(uint64_t addr, uint64_t bytes, bool accessible);
/* Whether they can; false where nothing is mapped. */
bool virtual_accessible(uint64_t addr, bool *accessible);

/* The allocation that is mapped there, its handle with one holder more. */
CUresult virtual_retain(uint64_t addr, CUmemGenericAllocationHandle *handle);

/* The mapping that contains `addr`, if it is accessible; MEM_MAPPED. */
bool virtual_find(uint64_t addr, struct mem_block *out);
/* The reservation that contains `addr`, whatever is mapped there. */
bool virtual_reserved(uint64_t addr, uint64_t *base, uint64_t *bytes);
/* The number of the allocation that is mapped there (allocation_info.id); 0: none is. */
uint64_t virtual_physical(uint64_t addr);
/* All of it is accessible, by however many mappings. */
bool virtual_covers(uint64_t addr, uint64_t bytes);

#endif
