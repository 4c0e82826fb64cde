/* SPDX-License-Identifier: Apache-2.0
 *
 * Questions about parts of the device. There are none: every context has all multiprocessors, and
 * no stream belongs to a green context.
 */
#include "proto/gen/prototypes.h"
#include "shim/context/ctx.h"
#include "shim/context/stream.h"

/* The smallest part that could be split off, and what its size would have to be a multiple of: the
 * guideline of CUDA's documentation for each architecture. */
static CUdevSmResource all_sms(void) {
    const struct wire_device *d = &state.conn.device;
    CUdevSmResource sm = {d->sm_count, 2, 2};
    if (d->cc_major >= 8) sm.minSmPartitionSize = 4;
    if (d->cc_major >= 9) sm.minSmPartitionSize = sm.smCoscheduledAlignment = 8;
    return sm;
}

static CUresult whole_device(CUdevResource *resource, CUdevResourceType type) {
    if (!resource) return CUDA_ERROR_INVALID_VALUE;
    if (type != CU_DEV_RESOURCE_TYPE_SM) return CUDA_ERROR_INVALID_RESOURCE_TYPE;
    *resource = (CUdevResource){.type = type, .sm = all_sms()};
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetDevResource(CUdevice device, CUdevResource *resource, CUdevResourceType type) {
    CUresult r = state_ready();
    if (r) return r;
    return device == 0 ? whole_device(resource, type) : CUDA_ERROR_INVALID_DEVICE;
}

/* NULL stands for the current context. */
CUresult cuCtxGetDevResource(CUcontext hCtx, CUdevResource *resource, CUdevResourceType type) {
    CUresult r = state_ready();
    if (r) return r;
    return ctx_find(hCtx) ? whole_device(resource, type) : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult cuStreamGetGreenCtx(CUstream hStream, CUgreenCtx *phCtx) {
    CUresult r = ctx_enter();
    if (r) return r;
    if (!stream_find(hStream)) return CUDA_ERROR_INVALID_HANDLE;
    if (!phCtx) return CUDA_ERROR_INVALID_VALUE;
    *phCtx = NULL;
    return CUDA_SUCCESS;
}
