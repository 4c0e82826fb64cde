/* SPDX-License-Identifier: Apache-2.0
 *
 * Green contexts: the primary context with a part of the device. The kernels of their streams run
 * on that part only. All contexts share the default stream, whose kernels have the whole device.
 */
#include "proto/gen/prototypes.h"
#include "shim/connection/refuse.h"
#include "shim/context/ctx.h"
#include "shim/context/stream.h"
#include "shim/handle.h"

static struct context *find(CUgreenCtx handle) {
    struct context *c = handle ? ctx_find((CUcontext)handle) : NULL;
    return c && c->sms ? c : NULL;
}

static CUresult enter(CUgreenCtx handle, struct context **c) {
    CUresult r = state_ready();
    if (r) return r;
    *c = find(handle);
    return *c ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

/* ---- life ------------------------------------------------------------------------------------ */

CUresult cuGreenCtxCreate(CUgreenCtx *phCtx, CUdevResourceDesc desc, CUdevice dev,
                          unsigned int flags) {
    CUresult r = state_live();
    if (r) return r;
    uint32_t sms = handle_index(HANDLE_RESOURCES, desc);
    if (dev != 0) return CUDA_ERROR_INVALID_DEVICE;
    if (!phCtx || sms == HANDLE_NONE || flags & ~(unsigned int)CU_GREEN_CTX_DEFAULT_STREAM)
        return CUDA_ERROR_INVALID_VALUE;
    if (state_is_whole()) return refuse_call("cuGreenCtxCreate");
    struct context *c = ctx_create_green(sms);
    if (!c) return CUDA_ERROR_OUT_OF_MEMORY;
    ctx_retain();
    *phCtx = (CUgreenCtx)c->handle;
    return CUDA_SUCCESS;
}

CUresult cuGreenCtxDestroy(CUgreenCtx hCtx) {
    struct context *c;
    CUresult r = enter(hCtx, &c);
    if (r) return r;
    if (!ctx_end(c, (CUcontext)hCtx)) return CUDA_ERROR_INVALID_CONTEXT;
    if (ctx_current() == c) ctx_pop();
    ctx_free(c);
    return cuDevicePrimaryCtxRelease(0);
}

CUresult cuCtxFromGreenCtx(CUcontext *pContext, CUgreenCtx hCtx) {
    struct context *c;
    CUresult r = enter(hCtx, &c);
    if (r) return r;
    if (!pContext) return CUDA_ERROR_INVALID_VALUE;
    *pContext = c->handle;
    return CUDA_SUCCESS;
}

CUresult cuGreenCtxGetId(CUgreenCtx greenCtx, unsigned long long *greenCtxId) {
    struct context *c;
    CUresult r = enter(greenCtx, &c);
    if (r) return r;
    if (!greenCtxId) return CUDA_ERROR_INVALID_VALUE;
    *greenCtxId = c->id;
    return CUDA_SUCCESS;
}

/* ---- streams --------------------------------------------------------------------------------- */

CUresult cuGreenCtxStreamCreate(CUstream *phStream, CUgreenCtx greenCtx, unsigned int flags,
                                int priority) {
    struct context *c;
    CUresult r = enter(greenCtx, &c);
    if (r) return r;
    if (!phStream || flags != CU_STREAM_NON_BLOCKING) return CUDA_ERROR_INVALID_VALUE;
    r = stream_create(c->index, flags, priority, phStream);
    return r ? r : stream_share(stream_find(*phStream), c->handle, c->sms);
}

/* The default stream belongs to the current context. */
CUresult cuStreamGetGreenCtx(CUstream hStream, CUgreenCtx *phCtx) {
    CUresult r = ctx_enter();
    if (r) return r;
    const struct stream *s = stream_find(hStream);
    const struct context *c = ctx_current();
    if (!s) return CUDA_ERROR_INVALID_HANDLE;
    if (!phCtx) return CUDA_ERROR_INVALID_VALUE;
    CUcontext green = s->id == STREAM_LEGACY && c->sms ? c->handle : s->green;
    *phCtx = (CUgreenCtx)green;
    return CUDA_SUCCESS;
}
