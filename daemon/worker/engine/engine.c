/* SPDX-License-Identifier: Apache-2.0
 *
 * Events to the scheduler, actions to the device, completions to the streams. All loops over work
 * lists, nothing recursive: what one step makes possible is done by the next.
 */
#include "daemon/worker/engine/engine.h"

#include <stdlib.h>

#include "common/log.h"
#include "daemon/worker/engine/running.h"
#include "daemon/worker/fault.h"
#include "daemon/worker/front/defer.h"
#include "daemon/worker/memory/clearing.h"
#include "daemon/worker/memory/residence.h"
#include "daemon/worker/profile/profiling.h"
#include "daemon/worker/stats.h"

/* A place for the next event. Filled in place: copying it here costs more than the rest. */
static struct sched_event *engine_event(struct worker *w, enum sched_event_kind kind,
                                        uint32_t job) {
    if (w->event_count == w->event_cap) {
        uint32_t cap = w->event_cap ? 2 * w->event_cap : 256;
        struct sched_event *events = realloc(w->events, cap * sizeof(*events));
        if (!events) { /* a lost event would hang its client for ever; the broker restarts us */
            log_error("worker", "out of memory for %u scheduler events", cap);
            abort();
        }
        w->events = events;
        w->event_cap = cap;
    }
    struct sched_event *e = &w->events[w->event_count++];
    e->kind = kind;
    e->job = job;
    return e;
}

void engine_offer(struct worker *w, struct op *op) {
    struct sched_event *e = engine_event(w, SCHED_SUBMITTED, op->stream->client->job_id);
    op->state = OP_OFFERED;
    e->submitted.op = (uintptr_t)op;
    e->submitted.iteration = op->iteration;
    e->submitted.kernel = *profiling_sched(op);
}

static void engine_done(struct worker *w, const struct op *op) {
    struct sched_event *e = engine_event(w, SCHED_DONE, op->stream->client->job_id);
    e->done.op = (uintptr_t)op;
    e->done.busy_ns = op->dev.busy_ns;
}

/* ---- submission ------------------------------------------------------------------------------ */

static int engine_submit(struct worker *w, struct op *op) {
    struct dev_queue *queue = op->stream->queue;
    if (op->dev.result) return op->dev.result; /* refused when it was read; it fails in its turn */
    switch (op->kind) {
    case WIRE_LAUNCH: return w->ops->launch(queue, &op->launch.args, &op->dev);
    case WIRE_COPY: return w->ops->copy(queue, &op->copy, &op->dev);
    default: return w->ops->memset(queue, &op->memset, &op->dev);
    }
}

void engine_run(struct worker *w, struct op *op) {
    struct stream *s = op->stream;
    struct client *c = s->client;
    if (c->away) residence_return(c);
    if (c->away && clearing_pending(c) && !client_dead(c)) {
        clearing_park(c, op);
        return;
    }
    int err = client_dead(c) ? c->fault : engine_submit(w, op);
    s->state = STREAM_READY;
    if (client_dead(c) || err < 0) {
        op->state = OP_DONE;
        op->dev.result = err;
        engine_done(w, op);
        if (!client_dead(c)) fault_raise_op(c, op);
        return; /* the client is abandoned at the next safe point, which retires this too */
    }
    op->state = OP_RUNNING;
    op->submitted_ns = w->now_ns;
    profiling_mixed(w);
    w->active_clients += c->inflight++ == 0;
    profiling_mixed(w);
    w->inflight++;
    s->cursor++;
    if (s->cursor != s->next) stream_kick(s);
}

/* A bug of ours. Where it leaves somebody waiting for ever, the broker starts another worker. */
static void engine_rejected(const struct sched_action *a) {
    bool waits = a->rejected.event == SCHED_SUBMITTED || a->rejected.event == SCHED_JOINED ||
                 a->rejected.event == SCHED_ASKED || a->rejected.event == SCHED_BOUNDARY;
    log_error("worker", "event=rejected job=%u kind=%u why=\"%s\"%s", a->job, a->rejected.event,
              sched_fault_text(a->rejected.fault), waits ? ": giving up" : "");
    if (waits) abort();
}

static __attribute__((noinline)) void engine_act(struct worker *w, const struct sched_action *a) {
    struct client *c;
    switch (a->kind) {
    case SCHED_GRANT:
    case SCHED_DENY:
        c = worker_client(w, a->job);
        if (c) credit_answer(c, a->kind == SCHED_GRANT);
        break;
    case SCHED_LEVEL:
        c = worker_client(w, a->job);
        if (c) client_level(c, a->level);
        break;
    case SCHED_ARM: w->arm_ns = a->at_ns; break;
    case SCHED_REJECT: engine_rejected(a); break;
    default: residence_act(w, a);
    }
}

static void engine_step(struct worker *w) {
    struct sched_actions actions;
    if (w->stepping) { /* its actions would be overwritten */
        log_error("worker", "a step within a step");
        abort();
    }
    int err = sched_step(w->sched, w->now_ns, w->events, w->event_count, &actions);
    w->event_count = 0;
    if (err) { /* out of memory: going on would lose operations */
        log_error("worker", "scheduler step failed: error=%d", err);
        abort();
    }
    w->stepping = true;
    w->steps++;
    for (uint32_t i = 0; i < actions.count; i++) {
        const struct sched_action *a = &actions.items[i];
        if (a->kind == SCHED_RUN)
            engine_run(w, (struct op *)(uintptr_t)a->op);
        else
            engine_act(w, a);
    }
    w->stepping = false;
}

bool engine_pending(const struct worker *w) {
    return !list_empty(&w->active) || !list_empty(&w->passing) || w->event_count ||
           !list_empty(&w->faulted) || !list_empty(&w->clearing);
}

void engine_pump(struct worker *w) {
    for (;;) {
        if (!list_empty(&w->active)) {
            struct stream *s = list_entry(w->active.next, struct stream, active);
            list_remove(&s->active);
            stream_advance(s);
        } else if (!list_empty(&w->passing)) {
            struct client *c = list_entry(w->passing.next, struct client, boundary.link);
            list_remove(&c->boundary.link);
            if (c->deferred) defer_run(c);
            boundary_pass(c);
        } else if (w->event_count) {
            engine_step(w);
        } else if (!list_empty(&w->faulted)) {
            struct client *c = list_entry(w->faulted.next, struct client, fault_link);
            list_remove(&c->fault_link);
            client_abandon(c, c->fault);
        } else {
            return;
        }
    }
}

void engine_joined(struct client *c) {
    engine_event(c->worker, SCHED_JOINED, c->job_id)->spec = c->spec;
}

void engine_boundary(struct client *c) {
    engine_event(c->worker, SCHED_BOUNDARY, c->job_id);
}

void engine_word(struct client *c) {
    engine_event(c->worker, SCHED_WORD, c->job_id)->need =
        (struct sched_need){c->spec.persistent_bytes, c->spec.ephemeral_bytes};
}

void engine_ask(struct client *c, uint64_t p, uint64_t e) {
    engine_event(c->worker, SCHED_ASKED, c->job_id)->need = (struct sched_need){p, e};
    engine_step(c->worker);
}

void engine_set(struct client *c) {
    if (c->abandoned) return;
    engine_event(c->worker, SCHED_SET, c->job_id)->spec = c->spec;
    engine_step(c->worker);
}

void engine_time(struct worker *w) {
    if (!w->arm_ns || w->now_ns < w->arm_ns) return;
    w->arm_ns = 0;
    engine_event(w, SCHED_TIME, 0);
}

void engine_policy(struct worker *w, const struct sched_choice *choice) {
    engine_event(w, SCHED_POLICY, 0)->choice = *choice;
    engine_step(w);
}

void engine_left(struct client *c) {
    engine_event(c->worker, SCHED_LEFT, c->job_id);
    engine_step(c->worker);
}

/* ---- completion ------------------------------------------------------------------------------ */

static void engine_ended(struct worker *w, struct op *op) {
    struct stream *s = op->stream;
    struct client *c = s->client;
    profiling_mixed(w);
    w->active_clients -= --c->inflight == 0;
    w->inflight--;
    op->state = OP_DONE;
    profiling_ended(w, op);
    if (op == c->shown)
        running_over(c, op);
    else
        stats_add(&c->com->stats.busy_ns, op->dev.busy_ns);
    engine_done(w, op);
    if (op->dev.result && !client_dead(c)) fault_raise_op(c, op);
    stream_retire(s);
    if (c->abandoned && !c->inflight) client_release(c);
}

unsigned engine_collect(struct worker *w) {
    unsigned count = 0;
    for (struct dev_op *d = w->ops->poll(w->dev), *next; d; d = next, count++) {
        next = d->next; /* retiring frees the operation */
        /* With many clients each one is out of the cache by now. */
        if (next) __builtin_prefetch(&((struct op *)next->owner)->stream);
        engine_ended(w, d->owner);
    }
    return count;
}
