/* SPDX-License-Identifier: Apache-2.0
 *
 * Records and waits of an event for a whole context. A stream that the call makes stands for all of
 * the context's streams.
 */
#include "proto/gen/prototypes.h"
#include "shim/capture/capture.h"
#include "shim/connection/submit.h"
#include "shim/context/ctx.h"
#include "shim/context/event.h"
#include "shim/context/stamp.h"
#include "shim/context/stream.h"

/* Invalidates the captures of the context's streams: these calls have no place in a graph. */
static CUresult refuse_captures(const struct context *c) {
    CUresult r = CUDA_SUCCESS;
    for (struct stream *s = NULL; (s = stream_of_context(c, s));)
        if (stream_captured(s)) {
            capture_refuse(s);
            r = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        }
    return r;
}

static CUresult enter(CUcontext handle, bool green, CUevent hEvent, struct context **c) {
    CUresult r = ctx_enter();
    if (r) return r;
    *c = handle ? ctx_find(handle) : NULL;
    if (!*c || !atom_load_relaxed(&(*c)->live) || (green && !(*c)->sms))
        return CUDA_ERROR_INVALID_CONTEXT;
    const struct event *e = event_find(hEvent);
    if (!e) return CUDA_ERROR_INVALID_HANDLE;
    return event_captured(e) ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : refuse_captures(*c);
}

static CUresult make_stream(const struct context *c, const struct stream **out) {
    CUstream handle;
    CUresult r = stream_create(c->index, CU_STREAM_NON_BLOCKING, STREAM_PRIORITY_LEAST, &handle);
    if (!r) *out = stream_find(handle);
    return r;
}

/* Records the event in a new stream that waits for all of the context's streams, and closes that
 * stream behind the event. */
static CUresult record(const struct context *c, CUevent hEvent) {
    const struct stream *join;
    if (event_find(hEvent)->owner != c->index) return CUDA_ERROR_INVALID_HANDLE;
    CUresult r = make_stream(c, &join);
    if (r) return r;
    for (struct stream *s = NULL; !r && (s = stream_of_context(c, s));)
        r = stream_await(join, s->id, submit_last(s->id));
    if (!r) r = cuEventRecord(hEvent, join->handle);
    stream_close(join->handle);
    return r;
}

/* Makes streams that are created from now on begin behind `gate`. The gate waits for all gates
 * before it; it itself began behind `before`. */
static CUresult set_gate(struct context *c, const struct stream *gate, uint64_t before) {
    CUresult r = CUDA_SUCCESS;
    while (!r && !atom_cas(&c->awaits, &before, stamp_make(gate->id, submit_last(gate->id)))) {
        struct stamp_point at = stamp_point(before);
        r = stream_await(gate, at.stream, at.seq);
    }
    return r;
}

/* Makes all streams of the context wait for a new stream, which waits for the event. */
static CUresult await(struct context *c, CUevent hEvent) {
    const struct stream *gate;
    uint64_t before = atom_load_acquire(&c->awaits);
    CUresult r = make_stream(c, &gate);
    if (r) return r;
    r = cuStreamWaitEvent(gate->handle, hEvent, 0);
    if (!r) r = set_gate(c, gate, before);
    uint64_t last = submit_last(gate->id);
    for (struct stream *s = NULL; !r && (s = stream_of_context(c, s));)
        r = stream_await(s, gate->id, last);
    stream_close(gate->handle);
    return r;
}

CUresult cuCtxRecordEvent(CUcontext hCtx, CUevent hEvent) {
    struct context *c;
    CUresult r = enter(hCtx, false, hEvent, &c);
    return r ? r : record(c, hEvent);
}

CUresult cuCtxWaitEvent(CUcontext hCtx, CUevent hEvent) {
    struct context *c;
    CUresult r = enter(hCtx, false, hEvent, &c);
    return r ? r : await(c, hEvent);
}

CUresult cuGreenCtxRecordEvent(CUgreenCtx hCtx, CUevent hEvent) {
    struct context *c;
    CUresult r = enter((CUcontext)hCtx, true, hEvent, &c);
    return r ? r : record(c, hEvent);
}

CUresult cuGreenCtxWaitEvent(CUgreenCtx hCtx, CUevent hEvent) {
    struct context *c;
    CUresult r = enter((CUcontext)hCtx, true, hEvent, &c);
    return r ? r : await(c, hEvent);
}
