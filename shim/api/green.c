/* SPDX-License-Identifier: Apache-2.0
 *
 * Green contexts: the primary context with a part of the device. The kernels of their streams run
 * on no more of it; what is sent to the default stream, which all contexts share, has all of it.
 */
#include "proto/gen/prototypes.h"
#include "shim/connection/submit.h"
#include "shim/context/ctx.h"
#include "shim/context/event.h"
#include "shim/context/stream.h"
#include "shim/graph/capture.h"
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

/* The default stream is the current context's. */
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

/* ---- events of all of its streams ------------------------------------------------------------ */

static CUresult enter_event(CUgreenCtx handle, CUevent hEvent, struct context **c) {
    CUresult r = enter(handle, c);
    if (r) return r;
    const struct event *e = event_find(hEvent);
    if (!e) return CUDA_ERROR_INVALID_HANDLE;
    if (event_captured(e)) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    for (struct stream *s = NULL; (s = stream_of_green((*c)->handle, s));)
        if (stream_captured(s)) {
            capture_refuse(s);
            return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        }
    return CUDA_SUCCESS;
}

static CUresult await(const struct stream *s, const struct stream *on) {
    uint64_t last = submit_last(on->id);
    struct wire_stream_wait rec = {
        .rec = {.op = WIRE_STREAM_WAIT, .stream = s->id}, .on = on->id, .on_seq = last};
    return submit_done(on->id, last) ? CUDA_SUCCESS
                                     : submit_ordered(&rec, sizeof(rec), NULL, 0, NULL);
}

/* A stream of its own waits for all of them, and is told to end behind the event. */
CUresult cuGreenCtxRecordEvent(CUgreenCtx hCtx, CUevent hEvent) {
    struct context *c;
    CUstream handle;
    CUresult r = enter_event(hCtx, hEvent, &c);
    if (!r) r = stream_create(c->index, CU_STREAM_NON_BLOCKING, STREAM_PRIORITY_LEAST, &handle);
    if (r) return r;
    const struct stream *join = stream_find(handle);
    for (struct stream *s = NULL; !r && (s = stream_of_green(c->handle, s));)
        r = await(join, s);
    if (!r) r = cuEventRecord(hEvent, handle);
    stream_close(handle);
    return r;
}

CUresult cuGreenCtxWaitEvent(CUgreenCtx hCtx, CUevent hEvent) {
    struct context *c;
    CUresult r = enter_event(hCtx, hEvent, &c);
    for (struct stream *s = NULL; !r && (s = stream_of_green(c->handle, s));)
        r = cuStreamWaitEvent(s->handle, hEvent, 0);
    return r;
}
