/* SPDX-License-Identifier: Apache-2.0
 *
 * Device memory that has a handle and no address (cuMemCreate): a segment of the worker's, by
 * number. It lives while its handle is held or addresses map it. Any thread.
 */
#ifndef SHIM_MEMORY_ALLOCATION_H
#define SHIM_MEMORY_ALLOCATION_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/cuda/cuda_abi.h"
#include "shim/memory/mem.h"

struct allocation_info {
    uint32_t segment; /* number on the wire */
    uint64_t bytes;
    unsigned int types; /* CU_MEM_HANDLE_TYPE_*: the types it may be exported as */
    uint64_t id;        /* id of the physical memory (identity.h) */
};

/* allocation_make allocates memory to be mapped in this window; allocation_open opens memory that
 * was exported with this key. Memory of this process has only one handle. Whole granules.
 * CUDA_ERROR_OUT_OF_MEMORY, CUDA_ERROR_NOT_FOUND. */
CUresult allocation_make(enum mem_window window, uint64_t bytes, unsigned int types,
                         CUmemGenericAllocationHandle *handle);
CUresult allocation_open(const uint64_t *key, unsigned int types,
                         CUmemGenericAllocationHandle *handle);

/* Returns false for an invalid handle. */
bool allocation_look(CUmemGenericAllocationHandle handle, struct allocation_info *out);
/* Drops one holder of the handle. */
bool allocation_release(CUmemGenericAllocationHandle handle);
/* Stores the key by which other processes open it, once the worker has sent it. */
void allocation_know(uint32_t segment, const uint64_t *key);
/* Returns the key, asking the worker if needed. */
CUresult allocation_key(CUmemGenericAllocationHandle handle, uint64_t *key);

/* Counts a range of addresses that maps the allocation, which lives as long; allocation_hide undoes
 * that. */
bool allocation_show(CUmemGenericAllocationHandle handle, struct allocation_info *out);
void allocation_hide(uint32_t segment);
/* Returns the handle of a mapped allocation, with one more holder. */
CUmemGenericAllocationHandle allocation_retain(uint32_t segment);
unsigned int allocation_types(uint32_t segment);

#endif
