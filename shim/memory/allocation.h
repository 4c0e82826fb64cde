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

/* allocation_make allocates memory, whole granules, that counts against the credit of this window.
 * allocation_open opens memory that was exported with this key; if this process has it already, the
 * result is the same handle with one more holder. CUDA_ERROR_OUT_OF_MEMORY: refused, or too many
 * allocations; CUDA_ERROR_NOT_FOUND: no memory has this key. */
CUresult allocation_make(enum mem_window window, uint64_t bytes, unsigned int types,
                         CUmemGenericAllocationHandle *handle);
CUresult allocation_open(const uint64_t *key, unsigned int types,
                         CUmemGenericAllocationHandle *handle);

/* Returns false for an invalid handle. */
bool allocation_look(CUmemGenericAllocationHandle handle, struct allocation_info *out);
/* Drops one holder of the handle. Returns false for an invalid handle. */
bool allocation_release(CUmemGenericAllocationHandle handle);
/* Stores the key by which other processes open the segment, once the worker has sent it. */
void allocation_know(uint32_t segment, const uint64_t *key);
/* Returns the key, asking the worker if needed. */
CUresult allocation_key(CUmemGenericAllocationHandle handle, uint64_t *key);

/* Counts one more address range that maps the allocation and keeps it alive; allocation_hide counts
 * one less. False for an invalid handle. */
bool allocation_show(CUmemGenericAllocationHandle handle, struct allocation_info *out);
void allocation_hide(uint32_t segment);
/* Returns the handle of a mapped allocation, with one more holder. */
CUmemGenericAllocationHandle allocation_retain(uint32_t segment);
unsigned int allocation_types(uint32_t segment);

#endif
