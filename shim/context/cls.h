/* SPDX-License-Identifier: Apache-2.0
 *
 * Storage that NVIDIA's libraries keep with a context, by key: a private table of the driver asks
 * for it at nearly every call of the runtime. Any thread.
 */
#ifndef SHIM_CONTEXT_CLS_H
#define SHIM_CONTEXT_CLS_H

#include <stdint.h>

#include "proto/cuda/cuda_abi.h"

typedef void (*cls_destructor)(CUcontext ctx, void *key, void *value);

/* A NULL context means the current one. A missing key gives CUDA_ERROR_INVALID_HANDLE. */
CUresult cls_put(CUcontext ctx, void *key, void *value, cls_destructor destructor);
CUresult cls_delete(CUcontext ctx, void *key);
CUresult cls_get(void **value, CUcontext ctx, void *key);

/* The context ended: what was kept with it is forgotten. */
void cls_release(uint32_t ctx_index);

#endif
