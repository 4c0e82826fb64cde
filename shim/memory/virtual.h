/* SPDX-License-Identifier: Apache-2.0
 *
 * Addresses that the program reserved, and the allocations mapped there: CUDA's virtual memory
 * management. The worker maps accessible ranges; a range that is mapped without access is known
 * only here. Errors are CUDA's. Any thread.
 */
#ifndef SHIM_MEMORY_VIRTUAL_H
#define SHIM_MEMORY_VIRTUAL_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/cuda/cuda_abi.h"
#include "shim/memory/mem.h"

/* Reserves whole pages of the host, at a multiple of `align` (a power of two, 0: none), if possible
 * at `want`. virtual_release takes the same range, with nothing mapped there. */
CUresult virtual_reserve(uint64_t bytes, uint64_t align, uint64_t want, uint64_t *addr);
CUresult virtual_release(uint64_t addr, uint64_t bytes);

/* virtual_map maps the allocation's first bytes at free whole granules of one reservation, not yet
 * accessible. virtual_unmap takes one or several adjacent whole mappings. */
CUresult virtual_map(uint64_t addr, uint64_t bytes, CUmemGenericAllocationHandle handle);
CUresult virtual_unmap(uint64_t addr, uint64_t bytes);

/* Makes adjacent whole mappings readable and writable, or inaccessible. */
CUresult virtual_access(uint64_t addr, uint64_t bytes, bool accessible);
/* Tells whether the mapping that contains `addr` is accessible; false when nothing is mapped there.
 */
bool virtual_accessible(uint64_t addr, bool *accessible);

/* Returns the handle of the allocation that is mapped there, with one more holder. */
CUresult virtual_retain(uint64_t addr, CUmemGenericAllocationHandle *handle);

/* Finds the mapping that contains `addr`, if it is accessible; its kind is MEM_MAPPED. */
bool virtual_find(uint64_t addr, struct mem_block *out);
/* Finds the reservation that contains `addr`, mapped or not. */
bool virtual_reserved(uint64_t addr, uint64_t *base, uint64_t *bytes);
/* The id of the allocation that is mapped there (allocation_info.id); 0: none. */
uint64_t virtual_physical(uint64_t addr);
/* True when all of the range is accessible, by any number of mappings. */
bool virtual_covers(uint64_t addr, uint64_t bytes);

#endif
