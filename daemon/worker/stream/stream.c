/* SPDX-License-Identifier: Apache-2.0
 *
 * Streams: which operations may run next, and which are complete.
 */
#include "daemon/worker/stream/stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/atomics.h"
#include "common/err.h"
#include "daemon/device/device_driver.h"
#include "daemon/device/device_inflight.h"
#include "daemon/device/device_shares.h"
#include "daemon/worker/stats.h"
#include "daemon/worker/stream/signal.h"

#define STREAM_FIRST_RING 32u

/* Publishes the stream's progress, which covers successful operations only. After a client's fault
 * the numbers stay as they are, and its waiters end by the fault. */
static void publish_done(struct stream *s) {
    struct completion *com = s->set->com;
    if (completion_dead(com) || s->parent) return;
    _Atomic uint64_t *done = WIRE_DONE(com->page, s->id);
    /* a repeated operation was published before */
    if (s->head - 1 < atom_load_relaxed(done)) return;
    atom_store_release(done, s->head - 1);
    com->published = true;
}

/* True for an operation of the stream's own, which the device never gets. */
static bool is_mark(const struct op *op) {
    return op->kind == WIRE_STREAM_WAIT || op->kind == WIRE_EVENT_RECORD;
}

/* False for inner streams: their operations run as they come, in the place of the one to which they
 * belong. */
static bool is_ordered(const struct stream *s) {
    return s->set->order.on && !s->parent;
}

/* ---- opening and closing --------------------------------------------------------------------- */

static struct stream *make_stream(struct stream_set *set, uint32_t id) {
    struct stream *s = calloc(1, sizeof(*s));
    if (!s) return NULL;
    s->ring = malloc(STREAM_FIRST_RING * sizeof(*s->ring));
    if (!s->ring) {
        free(s);
        return NULL;
    }
    s->ring_mask = STREAM_FIRST_RING - 1;
    s->set = set;
    s->id = id;
    s->head = s->cursor = s->next = 1;
    list_init(&s->active);
    return s;
}

static struct stream *new_stream(struct stream_set *set, uint32_t id) {
    struct stream *s = make_stream(set, id);
    if (!s) return NULL;
    set->streams[id] = s;
    if (id >= set->end) set->end = id + 1;
    /* An earlier worker may have published more. */
    if (set->end > atom_load_relaxed(&set->com->page->streams_end))
        atom_store_relaxed(&set->com->page->streams_end, set->end);
    return s;
}

static void free_stream(struct stream *s) {
    if (!s) return;
    list_remove(&s->active);
    if (s->queue) s->set->ops->queue_destroy(s->queue);
    free(s->choice);
    free(s->ring);
    free(s);
}

int stream_set_init(struct stream_set *set, const struct dev_ops *ops, struct completion *com,
                    struct list *active) {
    *set = (struct stream_set){.ops = ops, .com = com, .active = active};
    set->deferred_last = &set->deferred;
    list_init(&set->due);
    set->streams = calloc(WIRE_STREAMS, sizeof(*set->streams));
    return set->streams ? 0 : -ENOMEM;
}

void stream_set_finish(struct stream_set *set) {
    for (uint32_t i = 0; i < stream_count(set); i++)
        free_stream(stream_any(set, i));
    free(set->streams);
    free(set->inner);
    op_order_finish(&set->order);
    set->streams = set->inner = NULL;
    set->end = set->inner_count = 0;
}

void stream_set_level(struct stream_set *set, uint32_t level) {
    set->level = level;
    for (uint32_t i = 0; set->ops->shares && i < stream_count(set); i++) {
        const struct stream *s = stream_any(set, i);
        if (s && s->queue) set->ops->shares->queue_level(s->queue, level);
    }
}

/* Applies the lower of the program's limit and the scheduler's. */
static void tell_share(const struct stream *s) {
    const struct stream_set *set = s->set;
    bool less = set->share && (!s->share || set->share < s->share);
    if (s->queue && set->ops->shares)
        set->ops->shares->queue_share(s->queue, less ? set->share : s->share);
}

static void tell_still(const struct stream *s) {
    if (s->queue && s->set->ops->shares) s->set->ops->shares->queue_still(s->queue, s->set->still);
}

static int open_queue(struct stream *s) {
    const struct stream_set *set = s->set;
    int err = set->ops->queue_create(set->space, s->priority, &s->queue);
    if (!err && set->level && set->ops->shares) set->ops->shares->queue_level(s->queue, set->level);
    if (!err && set->share) tell_share(s);
    if (!err && set->still) tell_still(s);
    return err;
}

void stream_share(struct stream *s, uint32_t sms) {
    s->share = sms;
    tell_share(s);
}

void stream_set_share(struct stream_set *set, uint32_t sms) {
    set->share = sms;
    for (uint32_t i = 0; i < stream_count(set); i++)
        if (stream_any(set, i)) tell_share(stream_any(set, i));
}

void stream_set_still(struct stream_set *set, bool still) {
    set->still = still;
    for (uint32_t i = 0; i < stream_count(set); i++)
        if (stream_any(set, i)) tell_still(stream_any(set, i));
}

static void time_latest(const struct stream *s) {
    uint64_t seq = s->next;
    while (seq != s->head && is_mark(stream_at(s, seq - 1)))
        seq--;
    if (seq == s->head) return;
    struct op *op = stream_at(s, seq - 1);
    if (op->state < OP_RUNNING) op->dev.timed = true;
    if (op->state == OP_RUNNING && s->set->ops->driver)
        s->set->ops->driver->queue_time(s->queue, &op->dev);
}

void stream_time(struct stream *s) {
    const struct stream_set *set = s->set;
    time_latest(s);
    for (uint32_t i = 1; s->id == 0 && i < set->end; i++)
        if (set->streams[i] && !set->streams[i]->nonblocking) time_latest(set->streams[i]);
}

int stream_open(struct stream_set *set, uint32_t id, bool nonblocking, int priority,
                uint64_t first_seq) {
    struct stream *s = set->streams[id];
    if (!s) s = new_stream(set, id);
    if (!s) return -ENOMEM;
    /* A destroyed stream that is not empty yet becomes the new one; new operations follow the old.
     */
    if (s->open || first_seq < s->next || (s->head != s->next && first_seq != s->next))
        return ERR_PROTOCOL;
    s->priority = priority;
    int err = s->queue || completion_dead(set->com) ? 0 : open_queue(s);
    if (err) return err;
    if (s->closing) stream_share(s, 0); /* the queue is the old stream's */
    s->open = true;
    s->closing = false;
    s->nonblocking = nonblocking;
    if (s->head == s->next) {
        s->head = s->cursor = s->next = first_seq;
        publish_done(s);
    }
    return 0;
}

void stream_rewind(struct stream *s, uint64_t seq) {
    s->head = s->cursor = s->next = seq;
}

struct stream *stream_open_inner(struct stream *parent) {
    struct stream_set *set = parent->set;
    if (set->inner_count == STREAM_INNER_MAX) return NULL;
    if (!set->inner) set->inner = malloc(STREAM_INNER_MAX * sizeof(*set->inner));
    struct stream *s = set->inner ? make_stream(set, WIRE_STREAMS + set->inner_count) : NULL;
    if (!s) return NULL;
    s->parent = parent;
    s->nonblocking = true;
    s->priority = parent->priority;
    if (open_queue(s)) {
        free_stream(s);
        return NULL;
    }
    set->inner[set->inner_count++] = s;
    return s;
}

/* Without memory for another queue, the old one stays. */
static void renew_queue(struct stream *s) {
    struct dev_queue *old = s->queue;
    s->stale = false;
    s->queue = NULL;
    if (!old || open_queue(s)) {
        s->queue = old;
        return;
    }
    if (s->share) tell_share(s);
    s->set->ops->queue_destroy(old);
}

void stream_prioritize(struct stream *s, int priority) {
    s->stale = s->priority != priority;
    s->priority = priority;
    if (s->stale && s->head == s->next) renew_queue(s);
}

static void when_drained(struct stream *s) {
    s->stale = false;
    s->closing = false;
    if (s->queue) s->set->ops->queue_destroy(s->queue);
    s->queue = NULL;
}

void stream_close(struct stream *s) {
    s->open = false;
    s->closing = true;
    if (s->head == s->next) when_drained(s);
}

/* ---- kicking and blocking -------------------------------------------------------------------- */

void stream_kick_waiters(struct stream **list) {
    for (struct stream *s = *list, *next; s; s = next) {
        next = s->next_waiter;
        s->next_waiter = NULL;
        if (s->state == STREAM_BLOCKED) s->state = STREAM_READY;
        stream_kick(s);
    }
    *list = NULL;
}

void stream_block(struct stream *s, struct stream **list) {
    s->state = STREAM_BLOCKED;
    s->next_waiter = *list;
    *list = s;
}

/* ---- pushing --------------------------------------------------------------------------------- */

static int grow_ring(struct stream *s) {
    uint64_t mask = 2 * s->ring_mask + 1;
    struct op **ring = malloc((mask + 1) * sizeof(*ring));
    if (!ring) return -ENOMEM;
    for (uint64_t seq = s->head; seq != s->next; seq++)
        ring[seq & mask] = stream_at(s, seq);
    free(s->ring);
    s->ring = ring;
    s->ring_mask = mask;
    return 0;
}

/* Puts the operation into its epoch of the legacy order. */
static void count_legacy(struct stream *s, struct op *op) {
    struct stream *legacy = s->set->streams[0];
    op->blocking = s->id != 0 && !s->nonblocking;
    if (!op->blocking) return;
    op->legacy_seq = legacy->next - 1;
    if (legacy->head == legacy->next)
        s->set->legacy_pending++;
    else
        stream_at(legacy, legacy->next - 1)->following++;
}

/* An operation of an inner stream has the number and iteration of its body's operation. So a record
 * that waits for all earlier ones waits for no more than those. */
static inline void number_op(struct stream *s, struct op *op) {
    if (s->parent) {
        op->number = s->place->number;
        op->iteration = s->place->iteration;
    } else {
        op->number = s->set->pushed++;
        count_legacy(s, op);
    }
}

static inline void push(struct stream *s, struct op *op) {
    op->stream = s;
    op->seq = s->next;
    number_op(s, op);
    s->ring[s->next++ & s->ring_mask] = op;
    stats_add(&s->set->com->page->stats.queued, 1);
    if (completion_dead(s->set->com)) {
        op->state = OP_DONE;
        s->cursor = s->next;
    } else if (s->state == STREAM_READY) {
        stream_kick(s);
    }
}

static __attribute__((noinline)) int push_grown(struct stream *s, struct op *op) {
    if (grow_ring(s)) return -ENOMEM;
    push(s, op);
    return 0;
}

int stream_push(struct stream *s, struct op *op) {
    if (is_ordered(s) && op_order_push(&s->set->order, op)) return -ENOMEM;
    if (s->next - s->head > s->ring_mask) return push_grown(s, op);
    push(s, op);
    return 0;
}

/* ---- advancing ------------------------------------------------------------------------------- */

/* Blocks the stream until operation `seq` of `on` is complete; false when it is. */
static bool await_seq(struct stream *s, struct stream *on, uint64_t seq) {
    if (seq < on->head) return false;
    stream_block(s, &stream_at(on, seq)->waiters);
    return true;
}

/* For stream 0: true when all earlier operations of blocking streams are complete. */
static bool is_legacy_clear(const struct stream *s, const struct op *op) {
    if (s->set->legacy_pending) return false;
    return op->seq == s->head || stream_at(s, op->seq - 1)->following == 0;
}

static bool await_point(struct stream *s, struct point *point) {
    if (point->done) return false;
    stream_block(s, &point->waiters);
    return true;
}

static bool is_waiting(struct stream *s, const struct op *op) {
    if (op->wait.point) return await_point(s, op->wait.point);
    return await_seq(s, op->wait.on, op->wait.seq);
}

static bool is_blocked(struct stream *s, struct op *op) {
    struct stream_set *set = s->set;
    if (set->deferred && op->number >= set->deferred->number) {
        stream_block(s, &set->fenced);
        return true;
    }
    if (op->legacy_seq && await_seq(s, set->streams[0], op->legacy_seq)) return true;
    if (s->id == 0 && !is_legacy_clear(s, op)) {
        s->state = STREAM_BLOCKED;
        set->legacy_blocked = true;
        return true;
    }
    return op->kind == WIRE_STREAM_WAIT && is_waiting(s, op);
}

/* The awaited operation or point is done. False: the point's client ended before. */
static bool has_waited(const struct stream *s, struct op *op) {
    if (!op->wait.point) {
        op->dev.end_ns = op->wait.on->last_end_ns;
        return true;
    }
    if (op->wait.point->broken) op->dev.result = ERR_PEER_ENDED;
    return !op->wait.point->broken;
}

/* The operation no longer waits. False: it only marks a place in its stream, and passes. An
 * operation that cannot pass fails in stream order, as any other does. */
static bool may_begin(struct stream *s, struct op *op) {
    switch (op->kind) {
    case WIRE_STREAM_WAIT:
        if (!has_waited(s, op)) return true;
        break;
    case WIRE_EVENT_RECORD: break;
    default: return true;
    }
    op->state = OP_PASSED;
    s->cursor++;
    return false;
}

/* True for operations that the device does not end. They run when all before them is complete
 * (retiring kicks), and block all behind them. */
static bool is_aside(const struct op *op) {
    return op->kind == WIRE_HOST_FUNC || op->kind == WIRE_VALUE_WAIT ||
           op->kind == WIRE_GRAPH_CHOICE || op->kind == WIRE_GRAPH_SETTLE;
}

/* True if the next operation of the stream waits for something other than its turn. */
static bool waits_aside(const struct op *op) {
    const struct stream *s = op->stream;
    bool busy = s->head != s->cursor && stream_at(s, s->head)->state == OP_RUNNING;
    return busy || (s->state == STREAM_BLOCKED && !s->gated);
}

bool stream_order_quiet(const struct stream_set *set) {
    const struct op_order *o = &set->order;
    if (!o->running) return true;
    return set->ops->inflight && o->running == set->ops->inflight->stalled(set->space);
}

/* Blocks the stream until the operation at its cursor is the next one of the client; false when it
 * is. */
static bool await_turn(struct stream *s, const struct op *op) {
    const struct stream_set *set = s->set;
    s->gated = false;
    if (op->counted) return false;
    if (op == op_order_next(&set->order, waits_aside) && stream_order_quiet(set)) return false;
    s->gated = true;
    s->state = STREAM_BLOCKED;
    return true;
}

void stream_order_kick(struct stream_set *set) {
    if (!set->order.on) return;
    const struct op *op = op_order_next(&set->order, waits_aside);
    if (!op || !op->stream->gated || !stream_order_quiet(set)) return;
    op->stream->gated = false;
    op->stream->state = STREAM_READY;
    stream_kick(op->stream);
}

struct op *stream_advance(struct stream *s) {
    while (s->cursor != s->next) {
        struct op *op = stream_at(s, s->cursor);
        if (is_ordered(s) && await_turn(s, op)) return NULL;
        if (is_blocked(s, op)) return NULL;
        if (!may_begin(s, op)) continue;
        if (is_aside(op) && s->head != s->cursor) return NULL;
        if (is_ordered(s)) op_order_begin(&s->set->order, op);
        s->state = is_aside(op) ? STREAM_BLOCKED : STREAM_OFFERED;
        return op;
    }
    return NULL;
}

/* ---- retiring -------------------------------------------------------------------------------- */

/* A completed operation of stream 0 begins the epoch behind it. One of a blocking stream counts
 * down its epoch. */
static void end_legacy(struct stream *s, const struct op *op) {
    struct stream_set *set = s->set;
    if (op->blocking && s->last_end_ns > set->blocking_end_ns)
        set->blocking_end_ns = s->last_end_ns;
    if (s->id == 0)
        set->legacy_pending += op->following;
    else if (op->blocking && set->legacy_pending)
        set->legacy_pending--;
    if (set->legacy_pending || !set->legacy_blocked) return;
    struct stream *legacy = set->streams[0];
    set->legacy_blocked = false;
    if (legacy->state == STREAM_BLOCKED) legacy->state = STREAM_READY;
    stream_kick(legacy);
}

static void note_end(struct stream *s, uint64_t end_ns) {
    if (end_ns > s->last_end_ns) s->last_end_ns = end_ns;
}

static void end_point(struct point *m, bool broken) {
    struct stream *waiters = m->waiters;
    m->waiters = NULL;
    point_done(m, broken);
    stream_kick_list(&waiters);
}

/* End time of the work that stream 0 and the blocking streams do for each other. When an operation
 * retires, the work that it waits for in the legacy order is complete, and no later work is. */
static uint64_t legacy_end(const struct stream *s, const struct op *op) {
    if (s->id == 0) return s->set->blocking_end_ns;
    return op->blocking ? s->set->streams[0]->last_end_ns : 0;
}

/* The device's time of an event: the end of the work before it, but not before the event was
 * requested. */
static uint64_t event_time(struct stream *s, const struct op *op) {
    if (op->event.marks == WIRE_EVENT_BEGAN) return s->op_start_ns;
    if (op->event.marks == WIRE_EVENT_ENDED) return s->op_end_ns;
    note_end(s, op->event.arrived_ns);
    note_end(s, legacy_end(s, op));
    return s->last_end_ns;
}

static void retire_event(struct stream *s, const struct op *op) {
    bool dead = completion_dead(s->set->com);
    uint64_t ns = event_time(s, op);
    if (op->event.point) end_point(op->event.point, dead);
    if (!dead) atom_store_relaxed(WIRE_EVENT_NS(s->set->com->page, op->event.id), ns);
}

/* A stream runs operations in order: late clock readings must not contradict that. */
static void note_times(struct stream *s, const struct dev_op *dev) {
    s->op_start_ns = dev->start_ns > s->op_end_ns ? dev->start_ns : s->op_end_ns;
    s->op_end_ns = dev->end_ns > s->op_start_ns ? dev->end_ns : s->op_start_ns;
}

static void note_retired(struct stream *s, const struct op *op) {
    if (op->kind == WIRE_EVENT_RECORD) {
        retire_event(s, op);
        return;
    }
    note_end(s, op->dev.end_ns);
    if (op->dev.start_ns) note_times(s, &op->dev);
    if (op->kind == WIRE_STREAM_WAIT && op->wait.point) point_drop(op->wait.point);
}

struct op *stream_retire(struct stream *s) {
    struct op *first = NULL, **last = &first;
    uint64_t before = s->head;
    while (s->head != s->next) {
        struct op *op = stream_at(s, s->head);
        if (op->state != OP_DONE && op->state != OP_PASSED) break;
        note_retired(s, op);
        if (is_ordered(s)) op_order_retire(&s->set->order, op);
        if (s->cursor == s->head) s->cursor++; /* failed to start, or was skipped */
        s->head++;
        end_legacy(s, op);
        stream_kick_list(&op->waiters);
        *last = op;
        last = &op->next;
    }
    if (!first) return NULL;
    *last = NULL;
    if (!s->parent) s->set->completed += s->head - before;
    stats_sub(&s->set->com->page->stats.queued, s->head - before);
    publish_done(s);
    if (s->cursor != s->next && s->state == STREAM_READY) stream_kick(s);
    if (s->closing && s->head == s->next)
        when_drained(s);
    else if (s->stale && s->head == s->next)
        renew_queue(s);
    stream_order_kick(s->set);
    return first;
}

/* Removes the stream from the list, if it is there. */
static void unblock(struct stream *s, struct stream **list) {
    while (*list && *list != s)
        list = &(*list)->next_waiter;
    if (*list) *list = s->next_waiter;
}

void stream_skip(struct stream *s) {
    const struct op *next = s->cursor != s->next ? stream_at(s, s->cursor) : NULL;
    if (next && next->kind == WIRE_STREAM_WAIT && next->wait.point)
        /* the point may belong to another client, which lives on */
        unblock(s, &next->wait.point->waiters);
    for (uint64_t seq = s->head; seq != s->next; seq++) {
        struct op *op = stream_at(s, seq);
        if (op->state != OP_RUNNING) op->state = OP_DONE;
    }
    s->cursor = s->next;
    s->state = STREAM_READY; /* may stay on a waiters' list: kicking it is harmless */
    list_remove(&s->active);
}
