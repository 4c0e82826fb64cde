/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls about events. A record without timing in a stream other than the legacy one sends nothing:
 * the event is complete when the records sent before it are.
 */
#include "proto/gen/prototypes.h"
#include "proto/wire/wire.h"
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

CUresult cuEventCreate(CUevent *phEvent, unsigned int Flags) {
    const unsigned int known =
        CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;
    CUresult r = ctx_enter();
    if (r) return r;
    if (!phEvent || Flags & ~known) return CUDA_ERROR_INVALID_VALUE;
    if (Flags & CU_EVENT_INTERPROCESS && !(Flags & CU_EVENT_DISABLE_TIMING))
        return CUDA_ERROR_INVALID_VALUE;
    struct event *e = event_create(ctx_current()->index, Flags);
    if (!e) return CUDA_ERROR_OUT_OF_MEMORY;
    if (Flags & CU_EVENT_INTERPROCESS) r = signal_make(&e->signal);
    if (r)
        event_destroy(e->handle);
    else
        *phEvent = e->handle;
    return r;
}

CUresult cuEventDestroy_v2(CUevent hEvent) {
    CUresult r = state_ready();
    if (r) return r;
    return event_destroy(hEvent) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

static CUresult enter(CUevent handle, struct event **e) {
    CUresult r = ctx_enter();
    if (r) return r;
    *e = event_find(handle);
    return *e ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

static bool done(struct stamp_point at) {
    return submit_done(at.stream, at.seq);
}

static CUresult record_signal(struct event *e, const struct stream *s) {
    uint64_t seq;
    CUresult r = signal_record(e->signal, s, e->id, &seq);
    if (!r) event_set(e, s->id, seq);
    return r;
}

CUresult cuEventRecordWithFlags(CUevent hEvent, CUstream hStream, unsigned int flags) {
    struct event *e;
    CUresult r = enter(hEvent, &e);
    if (r) return r;
    struct stream *s = stream_find(hStream);
    if (!s) return CUDA_ERROR_INVALID_HANDLE;
    if (flags & ~(unsigned int)CU_EVENT_RECORD_EXTERNAL) return CUDA_ERROR_INVALID_VALUE;
    if (stream_captured(s) && flags && e->signal) return CUDA_ERROR_NOT_SUPPORTED;
    if (stream_captured(s)) return capture_record(s, e, flags & CU_EVENT_RECORD_EXTERNAL);
    if (event_captured(e)) capture_forget(e);
    if (e->signal) return record_signal(e, s);
    if (e->flags & CU_EVENT_DISABLE_TIMING && s->id != STREAM_LEGACY) {
        event_set(e, s->id, submit_last(s->id));
        return CUDA_SUCCESS;
    }
    struct wire_event_record rec = {.rec = {.op = WIRE_EVENT_RECORD, .stream = s->id},
                                    .event = e->id};
    uint64_t seq;
    r = submit_ordered(&rec, sizeof(rec), NULL, 0, &seq);
    if (!r) event_set(e, s->id, seq);
    return r;
}

CUresult cuEventRecord(CUevent hEvent, CUstream hStream) {
    return cuEventRecordWithFlags(hEvent, hStream, CU_EVENT_RECORD_DEFAULT);
}

/* Calls about a recorded event enter here. Threads without a context make them as well. */
static CUresult enter_recorded(CUevent handle, struct event **e) {
    CUresult r = ctx_enter_device();
    if (r) return r;
    *e = event_find(handle);
    return *e ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuEventQuery(CUevent hEvent) {
    struct event *e;
    CUresult r = enter_recorded(hEvent, &e);
    if (r) return r;
    if (event_captured(e)) return capture_refuse_event(e, false);
    r = capture_gate();
    if (r) return r;
    if (e->signal) return signal_ask(e->signal);
    if (!done(event_point(e))) return wait_not_ready();
    return state_fault();
}

CUresult cuEventSynchronize(CUevent hEvent) {
    struct event *e;
    CUresult r = enter_recorded(hEvent, &e);
    if (r && state_ready() == CUDA_SUCCESS) text_flush();
    if (r) return r;
    if (event_captured(e)) return capture_refuse_event(e, false);
    r = capture_gate();
    if (r) return r;
    struct stamp_point at = event_point(e);
    enum wait_how before =
        wait_as(e->flags & CU_EVENT_BLOCKING_SYNC ? WAIT_BLOCK : ctx_waiting(ctx_current()));
    r = e->signal ? signal_wait(e->signal, e->owner) : wait_stream(at.stream, at.seq);
    wait_as(before);
    text_flush();
    if (r) return r;
    pool_release_threshold();
    mark_idle();
    return CUDA_SUCCESS;
}

CUresult cuEventElapsedTime_v2(float *pMilliseconds, CUevent hStart, CUevent hEnd) {
    struct event *first, *second;
    CUresult r = enter_recorded(hStart, &first);
    if (!r) r = enter_recorded(hEnd, &second);
    if (r) return r;
    if (!pMilliseconds) return CUDA_ERROR_INVALID_VALUE;
    if (event_captured(first)) return capture_refuse_event(first, true);
    if (event_captured(second)) return capture_refuse_event(second, true);
    struct stamp_point from = event_point(first), to = event_point(second);
    if ((first->flags | second->flags) & CU_EVENT_DISABLE_TIMING || !from.seq || !to.seq)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!done(from) || !done(to)) return wait_not_ready();
    const struct wire_completion *comp = state.conn.completion;
    uint64_t from_ns = atom_load_relaxed(WIRE_EVENT_NS(comp, first->id));
    uint64_t to_ns = atom_load_relaxed(WIRE_EVENT_NS(comp, second->id));
    r = state_fault();
    if (!r) *pMilliseconds = (float)((double)(int64_t)(to_ns - from_ns) / 1e6);
    return r;
}
