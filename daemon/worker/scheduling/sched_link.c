/* SPDX-License-Identifier: Apache-2.0
 *
 * Turns operations into events for the scheduler, and its actions into work for the device.
 */
#include "daemon/worker/scheduling/sched_link.h"

#include <stdlib.h>

#include "common/err.h"
#include "common/log.h"
#include "daemon/device/device_null_mode.h"
#include "daemon/sched/core/step.h"
#include "daemon/sched/core/view.h"
#include "daemon/worker/faults/device_loss.h"
#include "daemon/worker/faults/fault.h"
#include "daemon/worker/faults/fault_isolation.h"
#include "daemon/worker/kernel/estimate.h"
#include "daemon/worker/kernel/launch_profile.h"
#include "daemon/worker/residency/credit_growth.h"
#include "daemon/worker/residency/lane_clear.h"
#include "daemon/worker/residency/memory_move.h"
#include "daemon/worker/residency/obtainable.h"
#include "daemon/worker/residency/residency.h"
#include "daemon/worker/residency/savepoint_writer.h"

/* ---- events ---------------------------------------------------------------------------------- */

/* One free event always exists, so an operation's event is filled before any call. It is filled in
 * place, because copying it costs more than the rest. */
static __attribute__((noinline)) void more_events(struct worker *w) {
    uint32_t cap = 2 * w->scheduling.events.cap;
    struct sched_event *events = realloc(w->scheduling.events.items, cap * sizeof(*events));
    if (!events) { /* a lost event would hang its client for ever; the broker restarts the worker */
        log_error("worker",
                  "event=abort why=\"the worker is out of memory for %u scheduler events\"", cap);
        abort();
    }
    w->scheduling.events.items = events;
    w->scheduling.events.cap = cap;
}

static inline struct sched_event *first_free(struct worker *w, enum sched_event_kind kind,
                                             uint32_t job) {
    struct sched_event *e = &w->scheduling.events.items[w->scheduling.events.count];
    e->kind = kind;
    e->job = job;
    return e;
}

static inline void count_event(struct worker *w) {
    if (++w->scheduling.events.count == w->scheduling.events.cap) more_events(w);
}

void sched_link_offer(struct worker *w, struct op *op) {
    struct sched_event *e = first_free(w, SCHED_SUBMITTED, client_of(op->stream)->job_id);
    op->state = OP_OFFERED;
    e->submitted.op = (uintptr_t)op;
    e->submitted.iteration = op->iteration;
    e->submitted.kernel = *launch_profile_sched(op);
    count_event(w);
}

void sched_link_done(struct worker *w, const struct op *op) {
    const struct client *c = client_of(op->stream);
    struct sched_event *e = first_free(w, SCHED_DONE, c->job_id);
    e->done.op = (uintptr_t)op;
    e->done.busy_ns = op->dev.busy_ns;
    e->done.lane_bytes = c->inflight ? 0 : c->lifetime.live_bytes; /* counts only for an idle job */
    count_event(w);
}

/* Appends an event with only kind and job set; the caller fills the rest. */
static struct sched_event *add_event(struct worker *w, enum sched_event_kind kind, uint32_t job) {
    first_free(w, kind, job);
    count_event(w);
    return &w->scheduling.events.items[w->scheduling.events.count - 1];
}

/* ---- submission ------------------------------------------------------------------------------ */

/* Spends the time of a null job's launch. A kernel that did not fit into the table has no known
 * duration, so its time is estimated. */
static __attribute__((noinline)) int spend_launch(struct worker *w, struct op *op) {
    const struct sched_kernel *known = launch_profile_sched(op);
    uint64_t ns =
        known->mean_ns ? known->mean_ns : estimate_ns(&w->info, op->launch.func, &op->launch.args);
    return w->ops->null_mode->spend(op->stream->queue, known->sms, ns, &op->dev);
}

/* Tells a device that batches completions what it needs to know. */
static void prepare_completion(const struct worker *w, struct op *op) {
    if (launch_profile_asks(op)) op->dev.timed = true;
    op->dev.expected_ns = launch_profile_sched(op)->mean_ns;
    op->dev.exact = w->clients.count > 1 && sched_decides_by_class(w->scheduling.sched);
}

static int submit_op(struct worker *w, struct client *c, struct op *op) {
    struct dev_queue *queue = op->stream->queue;
    /* refused when it was read; it fails in stream order */
    if (op->dev.result) return op->dev.result;
    if (w->info.coarse) prepare_completion(w, op);
    switch (op->kind) {
    case WIRE_LAUNCH:
        return c->null ? spend_launch(w, op) : w->ops->launch(queue, &op->launch.args, &op->dev);
    case WIRE_COPY:
        if (c->recovery_state.savepoint.header) savepoint_writer_copy(c, op);
        return w->ops->copy(queue, &op->copy, &op->dev);
    default: return w->ops->memset(queue, &op->memset, &op->dev);
    }
}

void sched_link_run(struct worker *w, struct op *op) {
    struct stream *s = op->stream;
    struct client *c = client_of(s);
    if (c->displaced) residency_return(c);
    if (c->displaced && residency_parks(c) && !client_dead(c)) {
        lane_clear_park(c, op);
        return;
    }
    if (!client_dead(c) && fault_isolation_holds(w, op)) return;
    if (!client_dead(c)) recovery_begin(&c->recovery_state, s->id, op->seq);
    int err = client_dead(c) ? c->com.fault : submit_op(w, c, op);
    s->state = STREAM_READY;
    if (client_dead(c) || err < 0) {
        op->state = OP_DONE;
        op->dev.result = err;
        device_loss_note(w, op);
        sched_link_done(w, op);
        if (!client_dead(c)) fault_raise_op(c, op);
        return; /* the client is abandoned at the next safe point, which retires this operation too
                 */
    }
    op->state = OP_RUNNING;
    op->submitted_ns = w->now_ns;
    load_begin(&w->load, &c->inflight, w->now_ns);
    if (c->inflight == 1) iteration_began(c->boundary.detector, w->now_ns);
    fault_isolation_began(w, op);
    s->cursor++;
    if (s->cursor == s->next) return;
    stream_kick(s);
    op_prefetch(stream_at(s, s->cursor));
}

/* A rejected event is a bug of ours. When it leaves a client waiting for ever, the worker aborts
 * and the broker starts another one. */
static void log_rejected(const struct sched_action *a) {
    bool waits = a->rejected.event == SCHED_SUBMITTED || a->rejected.event == SCHED_JOINED ||
                 a->rejected.event == SCHED_ASKED || a->rejected.event == SCHED_BOUNDARY;
    log_error("worker", "event=scheduler-rejected job=%u event_kind=%u why=\"%s\"%s", a->job,
              a->rejected.event, sched_fault_text(a->rejected.fault),
              waits ? " text=\"the worker aborts, because the job would wait for ever\"" : "");
    if (waits) abort();
}

/* True for actions after which jobs can get more memory, or less. */
static bool reserves(enum sched_action_kind kind) {
    return kind == SCHED_ADMIT || kind == SCHED_GRANT || kind == SCHED_LANE || kind == SCHED_MOVE ||
           kind == SCHED_SWAP_OUT || kind == SCHED_SWAP_IN;
}

static __attribute__((noinline)) void act(struct worker *w, const struct sched_action *a) {
    struct client *c;
    w->scheduling.reserved_anew |= reserves(a->kind);
    switch (a->kind) {
    case SCHED_GRANT:
    case SCHED_DENY:
    case SCHED_WAIT:
        c = client_find(w, a->job);
        if (c) credit_growth_answer(c, a->kind);
        break;
    case SCHED_LEVEL:
        c = client_find(w, a->job);
        if (c) stream_set_level(&c->streams, a->level);
        break;
    case SCHED_SHARE:
        c = client_find(w, a->job);
        if (c) stream_set_share(&c->streams, a->sms);
        break;
    case SCHED_STILL:
        c = client_find(w, a->job);
        if (c) stream_set_still(&c->streams, a->still);
        break;
    case SCHED_ARM: w->scheduling.arm_ns = a->at_ns; break;
    case SCHED_REJECT: log_rejected(a); break;
    default: residency_act(w, a);
    }
}

void sched_link_step(struct worker *w) {
    struct recorder *recorder = w->events_link.recorder;
    struct event_batch taken = w->scheduling.events;
    struct sched_actions actions;
    if (w->recovery.restoring)
        return; /* memory that a step would give away may belong to a client that has yet to arrive
                 */
    /* events that the actions cause are for the next step */
    w->scheduling.events = w->scheduling.taken;
    w->scheduling.events.count = 0;
    w->scheduling.taken = taken;
    recorder_begin(recorder, w->scheduling.sched, w->now_ns, taken.items, taken.count);
    int err = sched_step(w->scheduling.sched, w->now_ns, taken.items, taken.count, &actions);
    if (err) { /* out of memory: continuing would lose operations */
        log_error("worker", "event=abort why=\"a step of the scheduler failed\" error=%s",
                  err_name(err));
        abort();
    }
    recorder_answer(recorder, &actions);
    w->scheduling.steps++;
    for (uint32_t i = 0; i < actions.count; i++) {
        const struct sched_action *a = &actions.items[i];
        if (a->kind == SCHED_RUN)
            sched_link_run(w, (struct op *)(uintptr_t)a->op);
        else
            act(w, a);
    }
    recorder_end(recorder); /* comes last, so that the device already has its work */
    if (!w->scheduling.reserved_anew) return;
    w->scheduling.reserved_anew = false;
    obtainable_update(w);
}

/* ---- moves ----------------------------------------------------------------------------------- */

unsigned sched_link_move(struct worker *w) {
    const struct list *pos;
    list_each(pos, &w->moves.list) {
        const struct move *mv = list_entry(pos, struct move, link);
        if (memory_move_comes(mv)) add_event(w, SCHED_HELD, mv->client->job_id);
    }
    return residency_go_on(w);
}

/* ---- requests for memory --------------------------------------------------------------------- */

static void add_asked(struct worker *w, const struct memory_ask *ask) {
    struct sched_event *e = add_event(w, SCHED_ASKED, ask->client->job_id);
    e->need = (struct sched_need){ask->p, ask->e};
    e->patient = ask->patient;
}

bool sched_link_asked(const struct worker *w) {
    return !list_empty(&w->work.asking) && !w->recovery.restoring && !worker_lost(w);
}

/* Memory for the deferred list becomes free only once all earlier moves are done. The list
 * continues, and asks again, in the next round. */
static bool put_off(struct worker *w, struct memory_ask *ask) {
    struct client *c = ask->client;
    if (ask != &c->asks[MEMORY_ASK_DEFERRED] || !memory_move_any(w) || client_dead(c)) return false;
    memory_ask_end(ask);
    list_append(&w->work.parts, &c->parts);
    return true;
}

/* A request is the only event of its step, so that earlier measurements cannot undo the answer. */
unsigned sched_link_grant(struct worker *w) {
    unsigned count = 0;
    while (sched_link_asked(w)) {
        if (w->scheduling.events.count) {
            sched_link_step(w);
            continue;
        }
        struct memory_ask *ask = list_entry(w->work.asking.next, struct memory_ask, link);
        count++;
        if (put_off(w, ask)) continue;
        if (credit_growth_begin(ask)) {
            add_asked(w, ask);
            sched_link_step(w);
        }
        if (!memory_ask_pending(ask)) ask->resume(ask->client);
    }
    return count;
}

/* ---- clearing -------------------------------------------------------------------------------- */

void sched_link_unpark(struct client *c) {
    for (struct op *op = lane_clear_end(c), *next; op; op = next) {
        next = op->next;
        sched_link_run(c->worker, op);
    }
}

unsigned sched_link_clear(struct worker *w) {
    struct list *pos, *tmp;
    unsigned count = 0;
    list_each_safe(pos, tmp, &w->work.clearing) {
        struct client *c = list_entry(pos, struct client, clearing);
        if (c->moves || memory_move_shrinks(w, c->lane)) continue;
        count++;
        if (lane_clear_step(c)) sched_link_unpark(c);
    }
    return count;
}

/* ---- kernels on trial ------------------------------------------------------------------------ */

void sched_link_try(struct worker *w) {
    for (struct op *op; (op = fault_isolation_next(w));)
        sched_link_run(w, op);
}

void sched_link_untry(struct client *c) {
    for (struct op *op = fault_isolation_forget(c), *next; op; op = next) {
        next = op->next;
        sched_link_run(c->worker, op);
    }
}

/* ---- events of whole clients ----------------------------------------------------------------- */

void sched_link_joined(struct client *c, const struct sched_spec *spec) {
    add_event(c->worker, SCHED_JOINED, c->job_id)->spec = *spec;
}

void sched_link_boundary(struct client *c) {
    add_event(c->worker, SCHED_BOUNDARY, c->job_id);
}

void sched_link_fixed(struct client *c) {
    add_event(c->worker, SCHED_FIXED, c->job_id);
}

void sched_link_wanted(struct client *c) {
    add_event(c->worker, SCHED_WANTED, c->job_id);
}

void sched_link_measured(struct client *c) {
    c->worker->scheduling.reserved_anew = true;
    add_event(c->worker, SCHED_MEASURED, c->job_id)->need =
        (struct sched_need){c->credit.reserved_p, c->credit.reserved_e};
}

void sched_link_set(struct client *c, const struct sched_spec *spec) {
    if (c->abandoned) return;
    add_event(c->worker, SCHED_SET, c->job_id)->spec = *spec;
    sched_link_step(c->worker);
}

void sched_link_time(struct worker *w) {
    if (!w->scheduling.arm_ns || w->now_ns < w->scheduling.arm_ns) return;
    w->scheduling.arm_ns = 0;
    add_event(w, SCHED_TIME, 0);
}

void sched_link_policy(struct worker *w, const struct policy_config *policy) {
    add_event(w, SCHED_POLICY, 0)->policy = *policy;
    sched_link_step(w);
}

void sched_link_left(struct client *c) {
    c->worker->scheduling.reserved_anew = true;
    add_event(c->worker, SCHED_LEFT, c->job_id);
    sched_link_step(c->worker);
}
