/* SPDX-License-Identifier: Apache-2.0
 *
 * The sweep. A ring is always drained, whatever its streams wait for, up to the client's quota of
 * queued operations. The quota is the backpressure, and one waiting stream never blocks another.
 */
#include "daemon/worker/front/chan.h"

#include <stdio.h>

#include "common/err.h"
#include "daemon/worker/client.h"
#include "daemon/worker/faults/fault.h"
#include "daemon/worker/front/exec.h"
#include "daemon/worker/front/nested_graph.h"
#include "daemon/worker/operations/progress.h"
#include "daemon/worker/page/reply.h"
#include "daemon/worker/replay/log_append.h"
#include "daemon/worker/replay/log_replay.h"
#include "daemon/worker/scheduling/sched_link.h"
#include "proto/wire/record.h"

/* Records per client and sweep: a flood delays the other clients by no more. */
#define CHAN_SHARE 64

/* Resumes streams whose host function returned; returns their number. */
static unsigned drain_callbacks(struct worker *w, struct client *c) {
    if (!callback_any(&c->callbacks)) return 0;
    int count = callback_returned(&c->callbacks, c->sub);
    if (count < 0) {
        fault_expel(c, "the client reported more returned host functions than were called");
        return 0;
    }
    for (int i = 0; i < count; i++) {
        struct op *op = callback_take(&c->callbacks);
        if (!op) continue; /* an earlier worker saw its completion */
        struct stream *s = op->stream;
        op->state = OP_DONE;
        op->dev.end_ns = w->now_ns;
        s->state = STREAM_READY;
        progress_retire(c, s);
        recovery_callback_over(&c->recovery_state, c->callbacks.done);
    }
    if (count) stream_kick_list(&c->callbacks.waiters);
    return (unsigned)count;
}

/* Logs a record before it is carried out, for the client's recovery. A graph's records can be read
 * again, so only those about live blocks are logged. */
static void book(struct client *c, const struct wire_record *rec, uint32_t bytes, bool graph) {
    if (c->recovery_state.savepoint.header) log_append_savepoint(c, rec->op);
    if (c->replay.active) return;
    if (!graph || rec->op == WIRE_MEM_USE || rec->op == WIRE_MEM_DROP)
        log_append_record(c, rec, bytes, graph);
}

/* Reads the next record: first from a launched graph, then from an earlier worker's log, then from
 * the ring. Returns as ring_pop. */
static int take_record(struct worker *w, struct client *c, struct graph **graph) {
    *graph = NULL;
    if (!graph_replaying(&c->graphs)) {
        int again = c->replay.active ? log_replay_next(c, w->record) : 0;
        return again ? again : ring_pop(&c->rx, w->record, RING_RECORD_MAX);
    }
    int bytes = (int)graph_next(&c->graphs, w->record);
    *graph = graph_latest(&c->graphs);
    return bytes;
}

static unsigned drain_ring(struct worker *w, struct client *c) {
    unsigned count = 0;
    uint64_t credit = c->rx.published;
    char why[256];
    while (count < CHAN_SHARE && client_accepts(c)) {
        struct graph *graph;
        int bytes = take_record(w, c, &graph);
        if (bytes == 0) break;
        count++;
        int err = bytes < 0 ? ERR_PROTOCOL : 0;
        if (err) snprintf(why, sizeof(why), "the ring's indices or sizes are invalid");
        if (!err) err = record_check(w->record, (uint32_t)bytes, why, sizeof(why));
        if (!err) book(c, (const void *)w->record, (uint32_t)bytes, graph != NULL);
        if (!err) err = exec_record(c, w->record, graph, why, sizeof(why));
        if (err) fault_expel(c, why);
    }
    /* a thread of the client may wait for space */
    if (c->rx.published != credit) c->com.published = true;
    return count;
}

static bool has_next(const struct client *c) {
    return graph_replaying(&c->graphs) || c->replay.active || ring_ready(&c->rx);
}

/* True when a client that is swapped out has work and the scheduler does not know yet. */
static bool is_hungry(struct client *c) {
    if (!(c->throttled & CLIENT_OUT) || c->wanted || c->leaving || c->expelled) return false;
    return c->background_task || c->streams.deferred || has_next(c);
}

static unsigned ask_back(struct client *c) {
    if (!is_hungry(c)) return 0;
    c->wanted = true;
    sched_link_wanted(c);
    return 1;
}

unsigned chan_sweep(struct worker *w) {
    unsigned count = 0;
    struct list *pos;
    if (w->recovery.restoring)
        return 0; /* clients that have yet to arrive have memory that others must not get */
    list_each(pos, &w->clients.list) {
        struct client *c = list_entry(pos, struct client, link);
        count += drain_ring(w, c) + ask_back(c);
        if (client_dead(c)) continue;
        count += drain_callbacks(w, c);
        if (nested_graph_ready(c)) count += nested_graph_sweep(w, c);
    }
    return count;
}

void chan_idle(struct worker *w) {
    struct list *pos;
    list_each(pos, &w->clients.list) {
        struct client *c = list_entry(pos, struct client, link);
        if (c->rx.published == c->rx.next) continue;
        ring_publish(&c->rx);
        reply_wake(&c->com, &c->sub->client_sleeping);
    }
}

void chan_arm(struct worker *w) {
    struct list *pos;
    list_each(pos, &w->clients.list)
        doorbell_arm(&list_entry(pos, struct client, link)->sub->worker_sleeping);
}

void chan_disarm(struct worker *w) {
    struct list *pos;
    list_each(pos, &w->clients.list)
        doorbell_disarm(&list_entry(pos, struct client, link)->sub->worker_sleeping);
}

bool chan_ready(struct worker *w) {
    struct list *pos;
    if (w->recovery.restoring) return false;
    list_each(pos, &w->clients.list) {
        struct client *c = list_entry(pos, struct client, link);
        if (client_accepts(c) && has_next(c)) return true;
        if (is_hungry(c)) return true;
        if (client_dead(c)) continue;
        if (nested_graph_ready(c) || callback_ready(&c->callbacks, c->sub)) return true;
    }
    return false;
}
