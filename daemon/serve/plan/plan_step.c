/* SPDX-License-Identifier: Apache-2.0
 *
 * The step: applies events, learns, gives up requests as the policy says, and sends batches to idle
 * workers. All memory is reserved before anything changes. A step without memory therefore changes
 * nothing, and a steady state allocates nothing.
 */
#include "daemon/serve/plan/plan_step.h"

#include <errno.h>
#include <stdlib.h>

#include "daemon/serve/plan/plan_core.h"

/* ---- memory ---------------------------------------------------------------------------------- */

/* Reserves one answer per event, one end per request, one batch per worker, and one ARM. */
static int reserve_answer(struct plan *p, uint32_t events, uint32_t requests) {
    uint64_t room = (uint64_t)events + requests + PLAN_WORKERS + 1;
    if (room > UINT32_MAX / 2) return -ENOMEM;
    if (room > p->action_room) {
        struct plan_action *grown = realloc(p->actions, 2 * room * sizeof(*grown));
        if (!grown) return -ENOMEM;
        p->actions = grown;
        p->action_room = (uint32_t)(2 * room);
    }
    if (requests > p->id_room) {
        uint64_t *grown = realloc(p->ids, 2 * (size_t)requests * sizeof(*grown));
        if (!grown) return -ENOMEM;
        p->ids = grown;
        p->id_room = 2 * requests;
    }
    return 0;
}

static int reserve(struct plan *p, uint32_t events) {
    struct plan_state *st = &p->st;
    int err = roster_reserve(&st->roster, events);
    if (!err) err = reserve_answer(p, events, st->roster.used + events);
    if (!err) err = p->policy->reserve(st, st->roster.capacity);
    return err;
}

static struct plan_action *act(struct plan *p, enum plan_action_kind kind) {
    struct plan_action *a = &p->actions[p->action_count++];
    *a = (struct plan_action){.kind = kind};
    return a;
}

static void end_request(struct plan *p, uint32_t place, enum plan_action_kind kind) {
    act(p, kind)->id = p->st.roster.requests[place].id;
    roster_remove(&p->st.roster, place);
}

/* ---- trials ---------------------------------------------------------------------------------- */

/* Decides whether to try a request that is expected to be late. Such a request is normally given
 * up, so that its actual duration is never learnt: an expectation that is too long, from one bad
 * sample or from before the first one, would stay for ever. The thesis does not discuss this. With
 * config.trial_ns, such a request, before its deadline, is now and then tried in a batch of its own
 * on an otherwise idle worker. If it is in time, the expectation falls. */
static bool may_try(const struct plan *p, uint32_t place) {
    const struct plan_state *st = &p->st;
    return st->config.trial_ns && st->now_ns >= p->trial_at_ns && st->crew.idle &&
           plan_state_left(st, place) > 0;
}

/* ---- events ---------------------------------------------------------------------------------- */

static enum plan_fault take_arrived(struct plan *p, const struct plan_event *e) {
    struct plan_state *st = &p->st;
    if (e->arrived.app >= st->config.apps) return PLAN_FAULT_APP;
    if (roster_find(&st->roster, e->arrived.id) != ROSTER_NONE) return PLAN_FAULT_TWICE;
    uint32_t place = roster_add(&st->roster, e->arrived.id, e->arrived.app, e->arrived.arrived_ns,
                                e->arrived.deadline_ns);
    if (p->policy->accepts && !p->policy->accepts(st, place) && !may_try(p, place))
        end_request(p, place, PLAN_REFUSE);
    else
        p->policy->add(st, place);
    return PLAN_FAULT_NONE;
}

static enum plan_fault fault_of_worker(const struct plan *p, uint32_t worker) {
    if (worker >= PLAN_WORKERS) return PLAN_FAULT_WORKER;
    return p->st.crew.workers[worker].here ? PLAN_FAULT_NONE : PLAN_FAULT_NO_WORKER;
}

/* Adds the times alone of a batch's requests to their applications; returns the longest. */
static uint64_t learn_alone(struct plan_state *st, const struct crew_worker *w,
                            const uint64_t *alone_ns) {
    uint64_t longest_ns = 0;
    for (uint32_t i = 0; alone_ns && i < w->count; i++) {
        if (!alone_ns[i]) continue;
        outlook_alone(&st->outlook, plan_state_request(st, w->places[i])->app, alone_ns[i],
                      st->now_ns);
        if (alone_ns[i] > longest_ns) longest_ns = alone_ns[i];
    }
    return longest_ns;
}

static enum plan_fault take_done(struct plan *p, const struct plan_event *e) {
    struct plan_state *st = &p->st;
    enum plan_fault fault = fault_of_worker(p, e->worker);
    if (fault) return fault;
    struct crew_worker *w = &st->crew.workers[e->worker];
    if (!w->count) return PLAN_FAULT_IDLE;
    if (!e->done.batch_ns) return PLAN_FAULT_NO_TIME;
    uint64_t longest_ns = learn_alone(st, w, e->done.alone_ns);
    outlook_batch(&st->outlook, plan_state_size_of(st, w->count), longest_ns, e->done.batch_ns);
    if (p->policy->done) p->policy->done(st, w, e->done.batch_ns);
    for (uint32_t i = 0; i < w->count; i++)
        roster_remove(&st->roster, w->places[i]);
    crew_done(&st->crew, e->worker);
    return PLAN_FAULT_NONE;
}

static enum plan_fault take_alone(struct plan *p, const struct plan_event *e) {
    if (e->alone.app >= p->st.config.apps) return PLAN_FAULT_APP;
    if (!e->alone.ns) return PLAN_FAULT_NO_TIME;
    outlook_alone(&p->st.outlook, e->alone.app, e->alone.ns, p->st.now_ns);
    return PLAN_FAULT_NONE;
}

static enum plan_fault take_ready(struct plan *p, const struct plan_event *e) {
    enum plan_fault fault = fault_of_worker(p, e->worker);
    if (fault != PLAN_FAULT_NO_WORKER) return fault ? fault : PLAN_FAULT_READY_TWICE;
    crew_join(&p->st.crew, e->worker);
    return PLAN_FAULT_NONE;
}

static enum plan_fault take_lost(struct plan *p, const struct plan_event *e) {
    struct plan_state *st = &p->st;
    enum plan_fault fault = fault_of_worker(p, e->worker);
    if (fault) return fault;
    const struct crew_worker *w = &st->crew.workers[e->worker];
    for (uint32_t i = 0; i < w->count; i++) {
        uint32_t place = w->places[i];
        if (plan_state_request(st, place)->where == ROSTER_FORGOTTEN) {
            roster_remove(&st->roster, place);
            continue;
        }
        roster_move(&st->roster, place, ROSTER_PENDING);
        p->policy->add(st, place);
    }
    crew_leave(&st->crew, e->worker);
    return PLAN_FAULT_NONE;
}

static enum plan_fault take_cancelled(struct plan *p, const struct plan_event *e) {
    struct plan_state *st = &p->st;
    uint32_t place = roster_find(&st->roster, e->id);
    if (place == ROSTER_NONE) return PLAN_FAULT_NO_REQUEST;
    if (plan_state_request(st, place)->where == ROSTER_SENT) {
        roster_forget(&st->roster, place); /* the batch keeps it until it is done */
        return PLAN_FAULT_NONE;
    }
    p->policy->remove(st, place);
    roster_remove(&st->roster, place);
    return PLAN_FAULT_NONE;
}

static enum plan_fault take(struct plan *p, const struct plan_event *e) {
    switch (e->kind) {
    case PLAN_ARRIVED: return take_arrived(p, e);
    case PLAN_DONE: return take_done(p, e);
    case PLAN_ALONE: return take_alone(p, e);
    case PLAN_READY: return take_ready(p, e);
    case PLAN_LOST: return take_lost(p, e);
    case PLAN_CANCELLED: return take_cancelled(p, e);
    case PLAN_TIME: return PLAN_FAULT_NONE;
    case PLAN_EVENTS: break;
    }
    return PLAN_FAULT_KIND;
}

static void take_all(struct plan *p, const struct plan_event *events, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        enum plan_fault fault = take(p, &events[i]);
        if (!fault) continue;
        struct plan_action *a = act(p, PLAN_REJECT);
        a->rejected.index = i;
        a->rejected.fault = fault;
    }
}

/* ---- consequences of events ------------------------------------------------------------------ */

/* Refreshes the latency estimates and everything that the policy derived from them. */
static void learn(struct plan *p) {
    struct plan_state *st = &p->st;
    if (!outlook_due(&st->outlook, st->now_ns)) return;
    outlook_refresh(&st->outlook, st->now_ns);
    if (p->policy->learned) p->policy->learned(st);
}

/* Gives up expired requests, except possibly one for a trial. */
static void give_up(struct plan *p, uint32_t *trial) {
    for (uint32_t place; (place = p->policy->expired(&p->st)) != STATE_NONE;) {
        p->policy->remove(&p->st, place);
        if (*trial == STATE_NONE && may_try(p, place))
            *trial = place;
        else
            end_request(p, place, PLAN_TIMEOUT);
    }
}

static void send(struct plan *p, uint32_t worker, uint32_t count) {
    struct plan_state *st = &p->st;
    struct crew_worker *w = &st->crew.workers[worker];
    struct plan_action *a = act(p, PLAN_SEND);
    a->worker = worker;
    a->size = count;
    a->ids = p->ids + p->id_count;
    for (uint32_t i = 0; i < count; i++) {
        p->ids[p->id_count++] = plan_state_request(st, w->places[i])->id;
        roster_move(&st->roster, w->places[i], ROSTER_SENT);
        p->policy->remove(st, w->places[i]);
    }
    uint64_t expected_ns = st->outlook.size[plan_state_size_of(st, count)].mean_ns;
    crew_send(&st->crew, worker, count, st->now_ns, expected_ns);
}

static void try_late(struct plan *p, uint32_t place) {
    struct plan_state *st = &p->st;
    uint32_t worker = crew_idle(&st->crew);
    if (worker == CREW_NONE) {
        end_request(p, place, PLAN_TIMEOUT);
        return;
    }
    st->crew.workers[worker].places[0] = place;
    send(p, worker, 1);
    p->trial_at_ns = st->now_ns + st->config.trial_ns;
}

static void serve(struct plan *p) {
    struct plan_state *st = &p->st;
    uint32_t trial = STATE_NONE;
    for (;;) {
        give_up(p, &trial);
        uint32_t worker = crew_idle(&st->crew);
        if (worker == CREW_NONE) break;
        uint32_t count = p->policy->pick(st, st->crew.workers[worker].places);
        if (!count) break;
        send(p, worker, count);
    }
    if (trial != STATE_NONE) try_late(p, trial);
}

static void arm(struct plan *p) {
    uint64_t at_ns = p->policy->wake(&p->st);
    if (at_ns == p->armed_ns) return;
    p->armed_ns = at_ns;
    if (at_ns != PLAN_FOREVER) act(p, PLAN_ARM)->at_ns = at_ns;
}

int plan_step(struct plan *p, uint64_t now_ns, const struct plan_event *events, uint32_t count,
              struct plan_actions *out) {
    int err = reserve(p, count);
    if (err) return err;
    if (now_ns > p->st.now_ns) p->st.now_ns = now_ns;
    p->action_count = p->id_count = 0;
    take_all(p, events, count);
    learn(p);
    serve(p);
    arm(p);
    *out = (struct plan_actions){p->actions, p->action_count};
    return 0;
}
