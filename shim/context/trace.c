/* SPDX-License-Identifier: Apache-2.0
 *
 * Pending operations, each with two events. The events are ordinary ones, so they end with their
 * context; an operation whose events have ended is dropped.
 */
#include "shim/context/trace.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/fdutil.h"
#include "common/log.h"
#include "shim/connection/state.h"
#include "shim/connection/submit.h"
#include "shim/context/ctx.h"
#include "shim/context/event.h"
#include "shim/lock.h"

#define BATCH 32

_Atomic uint32_t trace_active;

struct pending {
    struct trace_item item;
    CUevent begin, end; /* handles */
    uint64_t seq;       /* position of the record of `end`, in the item's stream */
};

static _Atomic(const struct trace_observer *) observer;
static struct pending pending[TRACE_PENDING];
static uint32_t pending_count;
static pthread_mutex_t trace_lock = PTHREAD_MUTEX_INITIALIZER; /* protects `pending` */
static _Atomic uint64_t dropped;
static _Atomic uint32_t last_correlation;

/* ---- sending --------------------------------------------------------------------------------- */

static bool record_event(const struct event *e, uint32_t flags, uint32_t stream, uint64_t *seq) {
    struct wire_event_record rec = {.rec = {.op = WIRE_EVENT_RECORD, .stream = stream},
                                    .event = e->id | flags};
    return submit_ordered(&rec, sizeof(rec), NULL, 0, seq) == CUDA_SUCCESS;
}

/* Records both events behind the operation that was just sent to the stream. */
static bool ask_times(struct pending *p, uint32_t owner) {
    struct event *begin = event_create(owner, 0), *end = event_create(owner, 0);
    uint64_t seq;
    bool asked = begin && end && record_event(begin, WIRE_EVENT_BEGAN, p->item.stream, &seq) &&
                 record_event(end, WIRE_EVENT_ENDED, p->item.stream, &p->seq);
    if (asked) {
        event_set(begin, p->item.stream, seq);
        event_set(end, p->item.stream, p->seq);
        p->begin = begin->handle;
        p->end = end->handle;
        return true;
    }
    if (begin) event_destroy(begin->handle);
    if (end) event_destroy(end->handle);
    return false;
}

static bool keep(const struct pending *p) {
    lock_enter(&trace_lock);
    bool room = pending_count < TRACE_PENDING;
    if (room) pending[pending_count++] = *p;
    lock_leave(&trace_lock);
    return room;
}

static bool is_full(void) {
    lock_enter(&trace_lock);
    bool full = pending_count == TRACE_PENDING;
    lock_leave(&trace_lock);
    return full;
}

static void drop_events(const struct pending *p) {
    event_destroy(p->begin);
    event_destroy(p->end);
}

/* Checks the daemon's version: an older daemon's worker would end the job at WIRE_EVENT_BEGAN. */
static bool worker_knows(void) {
    static _Atomic uint32_t said;
    bool knows = state.conn.minor >= TRACE_MINOR;
    if (!knows && !atom_exchange(&said, 1))
        log_error("shim", "what=\"the profiler records no activities, because salusd is too old\" "
                          "do=\"install salusd from the same release as this library\"");
    return knows;
}

static void add_item(struct trace_item *item, uint32_t owner) {
    const struct trace_observer *o = atom_load_acquire(&observer);
    struct pending p;
    if (!worker_knows()) return;
    if (is_full()) trace_collect();
    item->correlation = atom_add(&last_correlation, 1) + 1;
    item->thread = (uint32_t)syscall(SYS_gettid);
    if (o) o->sent(item);
    p.item = *item;
    if (is_full() || !ask_times(&p, owner)) {
        atom_add(&dropped, 1);
    } else if (!keep(&p)) {
        drop_events(&p);
        atom_add(&dropped, 1);
    }
}

void trace_launch(struct trace_item *item, uint32_t stream, uint32_t context) {
    item->kind = TRACE_KERNEL;
    item->stream = stream;
    item->context = context;
    add_item(item, context);
}

void trace_graph(void) {
    static _Atomic uint32_t said;
    if (trace_on() && !atom_exchange(&said, 1))
        log_error("shim", "what=\"operations of CUDA graphs are not traced: the profiler records "
                          "no activities of them\" do=\"profile the program without graphs\"");
}

/* Traces copies and fills as they are sent to the worker. */
static void watch(const struct wire_record *rec) {
    struct context *ctx = ctx_current();
    struct trace_item item = {.stream = rec->stream, .called_ns = fdutil_now_ns()};
    if (!ctx) return;
    if (rec->op == WIRE_COPY) {
        const struct wire_copy *c = (const void *)rec;
        item.kind = TRACE_COPY;
        item.copy.dst = c->dst;
        item.copy.src = c->src;
        item.copy.bytes = c->width_bytes * c->height * c->depth;
    } else if (rec->op == WIRE_MEMSET) {
        const struct wire_memset *m = (const void *)rec;
        item.kind = TRACE_FILL;
        item.fill.dst = m->dst;
        item.fill.bytes = m->width_elems * m->elem_bytes * m->height;
        item.fill.value = m->value;
    } else {
        return;
    }
    item.returned_ns = item.called_ns;
    item.context = ctx->index;
    add_item(&item, ctx->index);
}

/* ---- collecting ------------------------------------------------------------------------------ */

/* Reads the times. False when the events ended with their context, or the ids now belong to other
 * events. */
static bool read_times(struct pending *p) {
    const struct wire_completion *comp = state.conn.completion;
    const struct event *begin = event_find(p->begin), *end = event_find(p->end);
    if (!begin || !end) return false;
    p->item.start_ns = atom_load_relaxed(&comp->event_ns[begin->id]);
    p->item.end_ns = atom_load_relaxed(&comp->event_ns[end->id]);
    if (p->item.start_ns > p->item.end_ns) p->item.start_ns = p->item.end_ns;
    return true;
}

/* Moves up to BATCH complete items out, in order. */
static uint32_t take_complete(struct pending *out) {
    uint32_t taken = 0, left = 0;
    lock_enter(&trace_lock);
    for (uint32_t i = 0; i < pending_count; i++) {
        if (taken < BATCH && submit_done(pending[i].item.stream, pending[i].seq))
            out[taken++] = pending[i];
        else if (left++ != i)
            pending[left - 1] = pending[i];
    }
    pending_count = left;
    lock_leave(&trace_lock);
    return taken;
}

void trace_collect(void) {
    const struct trace_observer *o = atom_load_acquire(&observer);
    struct pending batch[BATCH];
    uint32_t n;
    while ((n = take_complete(batch)) > 0) {
        for (uint32_t i = 0; i < n; i++) {
            bool whole = read_times(&batch[i]);
            drop_events(&batch[i]);
            if (!whole)
                atom_add(&dropped, 1);
            else if (o)
                o->done(&batch[i].item);
        }
    }
}

/* ---- life ------------------------------------------------------------------------------------ */

void trace_begin(const struct trace_observer *o) {
    atom_store_release(&observer, o);
    submit_watch(watch);
    atom_store_relaxed(&trace_active, 1);
}

void trace_end(void) {
    submit_watch(NULL);
    atom_store_relaxed(&trace_active, 0);
}

uint64_t trace_dropped(void) {
    return atom_exchange(&dropped, 0);
}
