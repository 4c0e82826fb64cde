/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls about streams. Queries never leave the process.
 */
#include "proto/gen/prototypes.h"
#include "shim/capture/capture.h"
#include "shim/connection/submit.h"
#include "shim/connection/text.h"
#include "shim/connection/wait.h"
#include "shim/context/ctx.h"
#include "shim/context/event.h"
#include "shim/context/mark.h"
#include "shim/context/signal.h"
#include "shim/context/stream.h"
#include "shim/memory/pool.h"

CUresult cuStreamCreateWithPriority(CUstream *phStream, unsigned int flags, int priority) {
    CUresult r = ctx_enter();
    if (r) return r;
    if (!phStream || flags & ~(unsigned int)CU_STREAM_NON_BLOCKING) return CUDA_ERROR_INVALID_VALUE;
    const struct context *c = ctx_current();
    r = stream_create(c->index, flags, priority, phStream);
    return r || !c->sms ? r : stream_share(stream_find(*phStream), c->handle, c->sms);
}

CUresult cuStreamCreate(CUstream *phStream, unsigned int Flags) {
    return cuStreamCreateWithPriority(phStream, Flags, STREAM_PRIORITY_LEAST);
}

CUresult cuStreamDestroy_v2(CUstream hStream) {
    CUresult r = ctx_enter_device(); /* threads without a context call this as well when they end */
    if (r) return r;
    struct stream *s = stream_find(hStream);
    if (!s || s->handle != hStream || s->id == STREAM_LEGACY) return CUDA_ERROR_INVALID_HANDLE;
    if (stream_captured(s)) capture_leave(s);
    stream_close(hStream);
    return CUDA_SUCCESS;
}

/* Every call about a stream enters here. */
static CUresult enter(CUstream handle, struct stream **s) {
    CUresult r = ctx_enter();
    if (r) return r;
    *s = stream_find(handle);
    return *s ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

/* Calls that look at the work sent to a stream enter here. */
static CUresult enter_sent(CUstream handle, struct stream **s) {
    CUresult r = enter(handle, s);
    if (r) return r;
    return stream_captured(*s) ? capture_refuse(*s) : capture_gate();
}

CUresult cuStreamQuery(CUstream hStream) {
    struct stream *s;
    CUresult r = enter_sent(hStream, &s);
    if (r) return r;
    if (!stream_idle(s)) return wait_not_ready();
    text_flush();
    return state_fault();
}

/* Waits as the stream's hint says, or else as the current context does. */
static CUresult wait_for(const struct stream *s) {
    CUsynchronizationPolicy policy = stream_hint_waiting(&s->hint);
    enum wait_how how = policy == CU_SYNC_POLICY_AUTO            ? ctx_waiting(ctx_current())
                        : policy == CU_SYNC_POLICY_BLOCKING_SYNC ? WAIT_BLOCK
                                                                 : WAIT_SPIN;
    enum wait_how before = wait_as(how);
    CUresult r = stream_wait(s);
    wait_as(before);
    return r;
}

CUresult cuStreamSynchronize(CUstream hStream) {
    struct stream *s;
    CUresult r = enter_sent(hStream, &s);
    if (!r)
        r = wait_for(s);
    else if (state_ready() == CUDA_SUCCESS)
        text_flush(); /* for instance text about the error that ended the context */
    if (r) return r;
    pool_release_threshold();
    mark_idle();
    return CUDA_SUCCESS;
}

CUresult cuStreamWaitEvent(CUstream hStream, CUevent hEvent, unsigned int Flags) {
    struct stream *s;
    CUresult r = enter(hStream, &s);
    if (r) return r;
    const struct event *e = event_find(hEvent);
    if (!e) return CUDA_ERROR_INVALID_HANDLE;
    if (Flags & ~(unsigned int)CU_EVENT_WAIT_EXTERNAL) return CUDA_ERROR_INVALID_VALUE;
    if (stream_captured(s) && Flags && e->signal) return CUDA_ERROR_NOT_SUPPORTED;
    if (stream_captured(s) || event_captured(e))
        return capture_wait(s, e, Flags & CU_EVENT_WAIT_EXTERNAL);
    if (e->signal) return signal_await(e->signal, s);
    struct stamp_point at = event_point(e);
    return stream_await(s, at.stream, at.seq);
}

CUresult cuStreamGetPriority(CUstream hStream, int *priority) {
    struct stream *s;
    CUresult r = enter(hStream, &s);
    if (r) return r;
    if (!priority) return CUDA_ERROR_INVALID_VALUE;
    *priority = s->priority;
    return CUDA_SUCCESS;
}

CUresult cuStreamGetFlags(CUstream hStream, unsigned int *flags) {
    struct stream *s;
    CUresult r = enter(hStream, &s);
    if (r) return r;
    if (!flags) return CUDA_ERROR_INVALID_VALUE;
    *flags = s->flags;
    return CUDA_SUCCESS;
}

CUresult cuStreamGetId(CUstream hStream, unsigned long long *streamId) {
    struct stream *s;
    CUresult r = enter(hStream, &s);
    if (r) return r;
    if (!streamId) return CUDA_ERROR_INVALID_VALUE;
    /* Unlike the wire's id, this number is never reused. Each context has a default stream of its
     * own. */
    *streamId = s->id == STREAM_LEGACY ? 2 * ctx_current()->id + 1 : 2 * s->serial;
    return CUDA_SUCCESS;
}

CUresult cuStreamGetDevice(CUstream hStream, CUdevice *device) {
    struct stream *s;
    CUresult r = enter(hStream, &s);
    if (r) return r;
    if (!device) return CUDA_ERROR_INVALID_VALUE;
    *device = 0;
    return CUDA_SUCCESS;
}

CUresult cuStreamGetCtx(CUstream hStream, CUcontext *pctx) {
    struct stream *s;
    CUresult r = enter(hStream, &s);
    if (r) return r;
    if (!pctx) return CUDA_ERROR_INVALID_VALUE;
    struct context *c = ctx_current();
    if (s->id != STREAM_LEGACY && s->owner != c->index) c = ctx_at(s->owner);
    *pctx = c->handle;
    return CUDA_SUCCESS;
}

CUresult cuStreamGetCtx_v2(CUstream hStream, CUcontext *pCtx, CUgreenCtx *pGreenCtx) {
    CUresult r = cuStreamGetCtx(hStream, pCtx);
    return r || !pGreenCtx ? r : cuStreamGetGreenCtx(hStream, pGreenCtx);
}

CUresult cuStreamCopyAttributes(CUstream dstStream, CUstream srcStream) {
    struct stream *to, *from;
    CUresult r = enter(dstStream, &to);
    if (!r) r = enter(srcStream, &from);
    if (r) return r;
    stream_hint_copy(&to->hint, &from->hint);
    return stream_prioritize(to, from->priority);
}

CUresult cuStreamGetAttribute(CUstream hStream, CUstreamAttrID attr, CUstreamAttrValue *value) {
    struct stream *s;
    CUresult r = enter(hStream, &s);
    if (r) return r;
    if (!value) return CUDA_ERROR_INVALID_VALUE;
    if (attr != CU_LAUNCH_ATTRIBUTE_PRIORITY) return stream_hint_get(&s->hint, attr, value);
    *value = (CUstreamAttrValue){.priority = s->priority};
    return CUDA_SUCCESS;
}

CUresult cuStreamSetAttribute(CUstream hStream, CUstreamAttrID attr,
                              const CUstreamAttrValue *param) {
    struct stream *s;
    CUresult r = enter(hStream, &s);
    if (r) return r;
    if (!param) return CUDA_ERROR_INVALID_VALUE;
    if (attr == CU_LAUNCH_ATTRIBUTE_PRIORITY) return stream_prioritize(s, param->priority);
    return stream_hint_set(&s->hint, attr, param);
}
