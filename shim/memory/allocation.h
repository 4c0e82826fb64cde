/* SPDX-License-Identifier: Apache-2.0
 *
 * Device memory that has a handle and no address (cuMemCreate): a segment of the worker's, by
 * number. It lives while its handle is held or addresses show it. Any thread.
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
    unsigned int types; /* CU_MEM_HANDLE_TYPE_*: what it may be exported as */
    uint64_t id;        /* of the physical memory (identity.h) */
};

/* New memory, to be shown in this window, or that of whoever exported this key; memory of this
 * process has one handle. Whole granules. CUDA_ERROR_OUT_OF_MEMORY, CUDA_ERROR_NOT_FOUND. */
CUresult allocation_make(enum mem_window window, uint64_t bytes, unsigned int types,
                         CUmemGenericAllocationHandle *handle);
CUresult allocation_open(const uint64_t *key, unsigned int types,
                         CUmemGenericAllocationHandle *handle);

/* False for what is no handle. */
bool allocation_look(CUmemGenericAllocationHandle handle, struct allocation_info *out);
/* One holder of the handle less. */
bool allocation_release(CUmemGenericAllocationHandle handle);
/* The key by which others open it, once the worker has said it. */
void allocation_know(uint32_t segment, const uint64_t *key);
/* The same, asked for. */
CUresult allocation_key(CUmemGenericAllocationHandle handle, uint64_t *key);

/* Addresses show it: as long as they do, it lives. */
bool allocation_show(CUmemGenericAllocationHandle handle, struct allocation_info *out);
void allocation_hide(uint32_t segment);
/* Of what is shown: its handle, with one holder more. */
CUmemGenericAllocationHandle allocation_retain(uint32_t segment);
unsigned int allocation_types(uint32_t segment);

#endif
