/* SPDX-License-Identifier: Apache-2.0
 *
 * All loops over work lists. Nothing is recursive: one step leaves work in a list for a later step.
 */
#include "daemon/worker/operations/pump.h"

#include <errno.h>

#include "daemon/worker/client.h"
#include "daemon/worker/faults/device_loss.h"
#include "daemon/worker/faults/fault.h"
#include "daemon/worker/faults/fault_isolation.h"
#include "daemon/worker/operations/client_end.h"
#include "daemon/worker/operations/iteration_boundary.h"
#include "daemon/worker/operations/progress.h"
#include "daemon/worker/operations/status_page.h"
#include "daemon/worker/operations/value_wait.h"
#include "daemon/worker/requests/deferred_request.h"
#include "daemon/worker/residency/memory_move.h"
#include "daemon/worker/residency/residency.h"
#include "daemon/worker/scheduling/sched_link.h"
#include "daemon/worker/stats.h"
#include "daemon/worker/stream/conditional.h"

/* The distance of the operation that is prefetched into the cache while one completes. */
#define PUMP_AHEAD 3

/* ---- completion ------------------------------------------------------------------------------ */

static void op_ended(struct worker *w, struct op *op) {
    struct stream *s = op->stream;
    struct client *c = client_of(s);
    if (s->next - op->seq > PUMP_AHEAD) op_prefetch(stream_at(s, op->seq + PUMP_AHEAD));
    load_end(&w->load, &c->inflight, w->now_ns);
    op->state = OP_DONE;
    fault_isolation_ended(w, op);
    device_loss_note(w, op);
    if (!c->null) launch_profile_ended(w->profiles.kernels, op, w->load.mixed_ns, w->info.coarse);
    if (op == c->shown)
        status_page_over(c, op);
    else
        stats_add(&c->com.page->stats.busy_ns, op->dev.busy_ns);
    sched_link_done(w, op);
    if (op->kind == WIRE_LAUNCH) recovery_ask(&c->recovery_state, w->ops, c->space);
    if (op->dev.result && (op->dev.suspects || !client_dead(c))) fault_raise_op(c, op);
    progress_retire(c, s);
    if (c->abandoned && !c->inflight) residency_end(c);
    if (c->abandoned && !client_busy(c)) client_end_release(c);
}

unsigned pump_collect(struct worker *w) {
    unsigned count = 0;
    for (struct dev_op *d = w->ops->poll(w->dev), *next; d; d = next, count++) {
        next = d->next; /* retiring frees the operation */
        op_ended(w, op_of(d));
    }
    return count;
}

/* ---- progress -------------------------------------------------------------------------------- */

/* Begins the stream's next operation. True: the operation is complete already. */
static bool begin_op(struct worker *w, struct client *c, struct op *op) {
    switch (op->kind) {
    case WIRE_HOST_FUNC:
        if (!callback_post(&c->callbacks, op, &c->com))
            stream_block(op->stream, &c->callbacks.waiters);
        return false;
    case WIRE_GRAPH_CHOICE:
        recovery_begin(&c->recovery_state, op->stream->id, op->seq);
        if (conditional_begin(op->stream))
            fault_raise(c, -ENOMEM, "out of memory for a conditional node");
        return false;
    case WIRE_GRAPH_SETTLE:
        op->state = OP_POSTED;
        recovery_begin(&c->recovery_state, op->stream->id, op->seq);
        device_launch_settle(&c->launching, op->environment);
        return false;
    case WIRE_VALUE_WAIT: return value_wait_begin(c, op);
    default: sched_link_offer(w, op); return false;
    }
}

static void advance_stream(struct worker *w, struct stream *s) {
    struct client *c = client_of(s);
    if (s->state != STREAM_READY || client_dead(c)) return;
    uint64_t before = s->cursor;
    struct op *op = stream_advance(s);
    bool passed = s->cursor != before;
    if (op && begin_op(w, c, op)) passed = true;
    if (passed) progress_retire(c, s);
    stream_order_kick(&c->streams);
}

void pump_reorder(struct worker *w) {
    struct list *pos;
    list_each(pos, &w->clients.list) {
        struct client *c = list_entry(pos, struct client, link);
        if (c->streams.order.running && !client_dead(c)) stream_order_kick(&c->streams);
    }
}

static void take_boundary(struct client *c) {
    if (c->streams.deferred) deferred_request_run(c);
    iteration_boundary_look(c);
}

bool pump_pending(const struct worker *w) {
    return !list_empty(&w->work.active) || !list_empty(&w->boundaries.passing) ||
           w->scheduling.events.count || !list_empty(&w->work.faulted) ||
           !list_empty(&w->work.clearing) || !list_empty(&w->work.parts) || sched_link_asked(w) ||
           !list_empty(&w->work.saving) || !list_empty(&w->boundaries.keeping) ||
           fault_isolation_ready(w) || memory_move_ready(w);
}

/* Requests for memory come first, because the clients that asked are stopped. Boundaries precede
 * the operations behind them: so events come in the order that the scheduler requires. */
void pump_run(struct worker *w) {
    for (;;) {
        if (!list_empty(&w->work.asking) && sched_link_asked(w)) {
            sched_link_grant(w);
        } else if (!list_empty(&w->boundaries.passing)) {
            struct client *c = list_entry(w->boundaries.passing.next, struct client, boundary.link);
            list_remove(&c->boundary.link);
            take_boundary(c);
        } else if (!list_empty(&w->work.active)) {
            struct stream *s = list_entry(w->work.active.next, struct stream, active);
            list_remove(&s->active);
            advance_stream(w, s);
        } else if (w->scheduling.events.count) {
            sched_link_step(w);
        } else if (!list_empty(&w->work.faulted)) {
            struct client *c = list_entry(w->work.faulted.next, struct client, fault_link);
            list_remove(&c->fault_link);
            client_end_abandon(c, c->com.fault);
        } else if (fault_isolation_ready(w)) {
            sched_link_try(w);
        } else {
            return;
        }
    }
}
