/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of events. Without timing, a record in a stream other than the legacy one sends
 * nothing: the event is complete when what was sent before it is.
 */
#include "shim/api/event.h"

#include <pthread.h>

#include "proto/gen/prototypes.h"
#include "proto/wire.h"
#include "shim/api/ctx.h"
#include "shim/api/stream.h"
#include "shim/connection/mark.h"
#include "shim/connection/submit.h"
#include "shim/connection/text.h"
#include "shim/connection/wait.h"
#include "shim/handle.h"
#include "shim/memory/pool.h"

/* A recorded event's stream and sequence number in one word, so that a record and a query of two
 * threads never mix. 2^52 records outlast any program. */
#define STAMP_SEQ_BITS 52
_Static_assert(WIRE_STREAMS <= 1u << (64 - STAMP_SEQ_BITS), "stream ids fit into a stamp");

struct event {
    CUevent handle; /* NULL while the id is free */
    uint16_t generation;
    uint16_t owner; /* index of the context */
    unsigned int flags;
    _Atomic uint64_t stamp; /* 0: never recorded */
};

static struct event events[EVENT_MARKER];
static uint32_t event_limit;            /* ids from here on were never used */
static uint32_t free_ids[EVENT_MARKER]; /* a queue: the longest unused first */
static uint32_t free_first, free_count;
static pthread_mutex_t event_lock = PTHREAD_MUTEX_INITIALIZER;

static uint64_t stamp_of(uint32_t stream, uint64_t seq) {
    return (uint64_t)stream << STAMP_SEQ_BITS | seq;
}

static bool stamp_done(uint64_t stamp) {
    return submit_done((uint32_t)(stamp >> STAMP_SEQ_BITS), stamp & ((1ull << STAMP_SEQ_BITS) - 1));
}

static struct event *find(CUevent handle) {
    uint32_t id = handle_index(HANDLE_EVENT, handle);
    if (id >= EVENT_MARKER || events[id].handle != handle) return NULL;
    return &events[id];
}

bool event_point(CUevent handle, uint32_t *stream, uint64_t *seq) {
    struct event *e = find(handle);
    if (!e) return false;
    uint64_t stamp = atom_load_relaxed(&e->stamp);
    *stream = (uint32_t)(stamp >> STAMP_SEQ_BITS);
    *seq = stamp & ((1ull << STAMP_SEQ_BITS) - 1);
    return true;
}

/* A record that is still under way would write the time of whoever has its id: such ids wait. */
static uint32_t take_id(void) {
    if (free_count > 0) {
        uint32_t id = free_ids[free_first];
        if (event_limit == EVENT_MARKER || stamp_done(atom_load_relaxed(&events[id].stamp))) {
            free_first = (free_first + 1) % EVENT_MARKER;
            free_count--;
            return id;
        }
    }
    return event_limit < EVENT_MARKER ? event_limit++ : EVENT_MARKER;
}

CUresult cuEventCreate(CUevent *phEvent, unsigned int Flags) {
    const unsigned int known =
        CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;
    CUresult r = ctx_enter();
    if (r) return r;
    if (!phEvent || Flags & ~known) return CUDA_ERROR_INVALID_VALUE;
    if (Flags & CU_EVENT_INTERPROCESS && !(Flags & CU_EVENT_DISABLE_TIMING))
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&event_lock);
    uint32_t id = take_id();
    if (id < EVENT_MARKER) {
        struct event *e = &events[id];
        e->owner = (uint16_t)ctx_current()->index;
        e->flags = Flags;
        atom_store_relaxed(&e->stamp, 0);
        e->handle = (CUevent)(uintptr_t)handle_make(HANDLE_EVENT, ++e->generation, id);
        *phEvent = e->handle;
    }
    pthread_mutex_unlock(&event_lock);
    return id < EVENT_MARKER ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* With the lock held. */
static void destroy(struct event *e) {
    e->handle = NULL;
    free_ids[(free_first + free_count++) % EVENT_MARKER] = (uint32_t)(e - events);
}

CUresult cuEventDestroy_v2(CUevent hEvent) {
    CUresult r = state_ready();
    if (r) return r;
    pthread_mutex_lock(&event_lock);
    struct event *e = find(hEvent);
    if (e) destroy(e);
    pthread_mutex_unlock(&event_lock);
    return e ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

void event_release(uint32_t owner) {
    pthread_mutex_lock(&event_lock);
    for (uint32_t id = 0; id < event_limit; id++) {
        if (events[id].handle && events[id].owner == owner) destroy(&events[id]);
    }
    pthread_mutex_unlock(&event_lock);
}

static CUresult enter(CUevent handle, struct event **e) {
    CUresult r = ctx_enter();
    if (r) return r;
    *e = find(handle);
    return *e ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuEventRecordWithFlags(CUevent hEvent, CUstream hStream, unsigned int flags) {
    struct event *e;
    CUresult r = enter(hEvent, &e);
    if (r) return r;
    struct stream *s = stream_find(hStream);
    if (!s) return CUDA_ERROR_INVALID_HANDLE;
    if (flags & ~(unsigned int)CU_EVENT_RECORD_EXTERNAL) return CUDA_ERROR_INVALID_VALUE;
    if (e->flags & CU_EVENT_DISABLE_TIMING && s->id != STREAM_LEGACY) {
        atom_store_relaxed(&e->stamp, stamp_of(s->id, submit_last(s->id)));
        return CUDA_SUCCESS;
    }
    struct wire_event_record rec = {.rec = {.op = WIRE_EVENT_RECORD, .stream = s->id},
                                    .event = (uint32_t)(e - events)};
    uint64_t seq;
    r = submit_ordered(&rec, sizeof(rec), NULL, 0, &seq);
    if (!r) atom_store_relaxed(&e->stamp, stamp_of(s->id, seq));
    return r;
}

CUresult cuEventRecord(CUevent hEvent, CUstream hStream) {
    return cuEventRecordWithFlags(hEvent, hStream, CU_EVENT_RECORD_DEFAULT);
}

CUresult cuEventQuery(CUevent hEvent) {
    CUresult r = ctx_enter_device(); /* asked by threads without a context as well */
    if (r) return r;
    const struct event *e = find(hEvent);
    if (!e) return CUDA_ERROR_INVALID_HANDLE;
    if (!stamp_done(atom_load_relaxed(&e->stamp))) return wait_not_ready();
    return state_fault();
}

CUresult cuEventSynchronize(CUevent hEvent) {
    struct event *e;
    CUresult r = enter(hEvent, &e);
    if (r) return r;
    uint32_t stream;
    uint64_t seq;
    event_point(hEvent, &stream, &seq);
    r = wait_stream(stream, seq);
    text_flush();
    if (r) return r;
    pool_release_threshold();
    mark_idle();
    return CUDA_SUCCESS;
}

CUresult cuEventElapsedTime_v2(float *pMilliseconds, CUevent hStart, CUevent hEnd) {
    struct event *first, *second;
    CUresult r = enter(hStart, &first);
    if (!r) r = enter(hEnd, &second);
    if (r) return r;
    if (!pMilliseconds) return CUDA_ERROR_INVALID_VALUE;
    uint64_t from = atom_load_relaxed(&first->stamp), to = atom_load_relaxed(&second->stamp);
    if ((first->flags | second->flags) & CU_EVENT_DISABLE_TIMING || !from || !to)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!stamp_done(from) || !stamp_done(to)) return wait_not_ready();
    const struct wire_completion *comp = state.conn.completion;
    uint64_t from_ns = atom_load_relaxed(&comp->event_ns[first - events]);
    uint64_t to_ns = atom_load_relaxed(&comp->event_ns[second - events]);
    r = state_fault();
    if (!r) *pMilliseconds = (float)((double)(int64_t)(to_ns - from_ns) / 1e6);
    return r;
}
