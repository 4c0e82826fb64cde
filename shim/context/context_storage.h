/* SPDX-License-Identifier: Apache-2.0
 *
 * Storage that NVIDIA's libraries attach to a context, by key. A private table of the driver reads
 * it at nearly every call of the runtime. Any thread.
 */
#ifndef SHIM_CONTEXT_CONTEXT_STORAGE_H
#define SHIM_CONTEXT_CONTEXT_STORAGE_H

#include <stdint.h>

#include "proto/cuda/cuda_abi.h"

typedef void (*cls_destructor)(CUcontext ctx, void *key, void *value);

/* NULL as the context means the current one. A missing key gives CUDA_ERROR_INVALID_HANDLE. */
CUresult context_storage_put(CUcontext ctx, void *key, void *value, cls_destructor destructor);
CUresult context_storage_delete(CUcontext ctx, void *key);
CUresult context_storage_get(void **value, CUcontext ctx, void *key);

/* Forgets all entries of a context that ended. */
void context_storage_release(uint32_t ctx_index);

#endif
