/* SPDX-License-Identifier: Apache-2.0
 *
 * The scheduler's step: takes the events in their order, admits jobs, gives out turns, then runs
 * the operations that the kernel policy picks. All memory that a step can need is reserved before
 * the step changes anything (step_memory.h). So running out of memory leaves the state unchanged,
 * and a steady state allocates nothing.
 */
#include "daemon/sched/core/step.h"

#include <stdio.h>
#include <stdlib.h>

#include "daemon/sched/admission/admit.h"
#include "daemon/sched/admission/grow.h"
#include "daemon/sched/core.h"
#include "daemon/sched/core/cap.h"
#include "daemon/sched/core/check.h"
#include "daemon/sched/core/config.h"
#include "daemon/sched/core/control_loop.h"
#include "daemon/sched/core/life.h"
#include "daemon/sched/core/step_memory.h"
#include "daemon/sched/dispatch/pause.h"
#include "daemon/sched/dispatch/policy_memory.h"
#include "daemon/sched/dispatch/ready.h"
#include "daemon/sched/dispatch/request.h"
#include "daemon/sched/dispatch/share.h"
#include "daemon/sched/dispatch/turn.h"

/* ---- lists ----------------------------------------------------------------------------------- */

static inline void append_op(struct sched_state *st, uint32_t op) {
    struct sched_op *o = &st->ops[op];
    struct sched_job *j = &st->jobs[o->job];
    o->prev = j->tail[o->list];
    o->next = SCHED_NONE;
    if (o->prev == SCHED_NONE)
        j->head[o->list] = op;
    else
        st->ops[o->prev].next = op;
    j->tail[o->list] = op;
}

static inline void unlink_op(struct sched_state *st, uint32_t op) {
    struct sched_op *o = &st->ops[op];
    struct sched_job *j = &st->jobs[o->job];
    if (o->prev == SCHED_NONE)
        j->head[o->list] = o->next;
    else
        st->ops[o->prev].next = o->next;
    if (o->next == SCHED_NONE)
        j->tail[o->list] = o->prev;
    else
        st->ops[o->next].prev = o->prev;
}

static void change_waits(struct sched_state *st, struct sched_job *j, int change) {
    j->waiting += (uint32_t)change;
    st->waiting += (uint32_t)change;
}

static void free_op(struct sched_state *st, uint32_t op) {
    st->ops[op].job = SCHED_NONE;
    st->ops[op].next = st->free_op;
    st->free_op = op;
    st->ops_used--;
}

/* Frees a job that has left and whose last operation has ended. */
static void end_job(struct sched *s, uint32_t job) {
    struct sched_state *st = &s->st;
    control_loop_forget(s, job);
    admit_left(s, job);
    policy_memory_forget(s->policy, &st->own, job);
    jobmap_remove(&st->map, st->jobs[job].id, job);
    st->jobs[job] = (struct sched_job){.next_free = st->free_job};
    st->free_job = job;
    st->jobs_used--;
}

/* ---- events ---------------------------------------------------------------------------------- */

static enum sched_fault take_joined(struct sched *s, const struct sched_event *e) {
    struct sched_state *st = &s->st;
    if (jobmap_find(&st->map, e->job) != JOBMAP_NONE) return SCHED_FAULT_TWICE;
    uint32_t job = st->free_job;
    struct sched_job *j = &st->jobs[job];
    st->free_job = j->next_free;
    *j = (struct sched_job){
        .id = e->job, .lane = SCHED_NO_LANE, .used = true, .spec = e->spec, .service = SCHED_NONE};
    if (!j->spec.weight) j->spec.weight = 1;
    j->cap = cap_of(st, j);
    for (int list = 0; list < SCHED_LISTS; list++)
        j->head[list] = j->tail[list] = SCHED_NONE;
    j->joined_ns = st->now_ns;
    j->node.arrival = st->arrivals++;
    st->jobs_used++;
    jobmap_add(&st->map, e->job, job);
    if (j->spec.slo_ns) control_loop_promise(s, job);
    admit_joined(s, job);
    return SCHED_FAULT_NONE;
}

static enum sched_fault take_left(struct sched *s, uint32_t job) {
    struct sched_state *st = &s->st;
    struct sched_job *j = &st->jobs[job];
    for (int list = 0; list < SCHED_RUNNING; list++)
        for (uint32_t op; (op = j->head[list]) != SCHED_NONE;) {
            unlink_op(st, op);
            change_waits(st, j, -1);
            free_op(st, op);
        }
    j->left = true;
    turn_update(s, job);
    turn_revoke(s, job);
    ready_changed(s, job);
    if (j->running == 0) end_job(s, job);
    return SCHED_FAULT_NONE;
}

static enum sched_fault take_submitted(struct sched *s, uint32_t job, const struct sched_event *e) {
    struct sched_state *st = &s->st;
    struct sched_job *j = &st->jobs[job];
    uint32_t op = st->free_op, ahead = e->submitted.iteration - j->iteration;
    struct sched_op *o = &st->ops[op];
    if (ahead > 1) return SCHED_FAULT_ITERATION;
    st->free_op = o->next;
    st->ops_used++;
    o->name = e->submitted.op;
    o->arrival = st->arrivals++;
    o->kernel = e->submitted.kernel;
    o->job = job;
    o->list = state_list(e->submitted.iteration, state_kernel(o) ? SCHED_KERNEL : SCHED_MEMORY);
    if (state_is_idle(j)) {
        pause_over(st, job);
        turn_resumed(s, job);
    }
    append_op(st, op);
    change_waits(st, j, 1);
    if (!ahead) request_begin(st, j);
    ready_submitted(s, op);
    if (!j->turn && !ahead) turn_update(s, job);
    if (j->swapped) admit_wanted(s, job);
    return SCHED_FAULT_NONE;
}

/* Operations end nearly in the order of submission: usually the first entry matches. */
static uint32_t find_running(const struct sched_state *st, uint32_t job, uint64_t name) {
    uint32_t op = st->jobs[job].head[SCHED_RUNNING];
    while (op != SCHED_NONE && st->ops[op].name != name)
        op = st->ops[op].next;
    return op;
}

static enum sched_fault take_done(struct sched *s, uint32_t job, const struct sched_event *e) {
    struct sched_state *st = &s->st;
    struct sched_job *j = &st->jobs[job];
    uint32_t op = find_running(st, job, e->done.op);
    uint64_t busy_ns = e->done.busy_ns;
    if (op == SCHED_NONE) return SCHED_FAULT_NO_OPERATION;
    unlink_op(st, op);
    request_mixed(st);
    st->active -= --j->running == 0;
    st->running--;
    j->done_ns = st->now_ns;
    if (state_kernel(&st->ops[op])) j->kernels_ns += st->ops[op].kernel.mean_ns;
    cap_learn(st, j, busy_ns);
    j->busy_ns += busy_ns;
    j->iteration_busy_ns += busy_ns;
    st->lane[j->lane].busy_ns += busy_ns;
    share_ended(s, op, busy_ns);
    j->lane_bytes = e->done.lane_bytes;
    if (j->running == 0 && j->revoked) turn_idle(s, job);
    if (state_is_idle(j)) {
        turn_drained(s, job);
        if (st->pending != SCHED_NONE || st->grower != SCHED_NONE) admit_idled(s);
    }
    ready_ended(s, op);
    free_op(st, op);
    if (j->left && j->running == 0) end_job(s, job);
    return SCHED_FAULT_NONE;
}

/* Host time between the previous boundary and the arrival of the first operation. The wait for the
 * turn after that is not counted. When a turn spans boundaries, the whole time is in the lap. */
static uint64_t host_ns(const struct sched_job *j) {
    uint64_t came_ns = j->request_at_ns < j->turn_ns ? j->request_at_ns : j->turn_ns;
    return j->boundary_ns && came_ns > j->boundary_ns ? came_ns - j->boundary_ns : 0;
}

/* Ends a lap, which lasts from the turn to the end of its last operation. A boundary may be
 * detected only at the next request; the idle time before that must not lengthen the lease. The
 * job's demand is measured from turn to boundary, while no other job has a turn. */
static void measure_lap(struct sched_state *st, struct sched_job *j) {
    uint64_t lap_ns = st->now_ns - j->turn_ns, before_ns = host_ns(j);
    bool worked = j->done_ns > j->turn_ns;
    j->lap_ns = state_mean(j->lap_ns, worked ? j->done_ns - j->turn_ns : lap_ns);
    j->boundary_ns = st->now_ns;
    if (st->turns > 1 || st->crowded_ns > j->turn_ns) return;
    j->alone_ns += lap_ns;
    j->alone_host_ns += before_ns;
    j->alone_busy_ns += j->iteration_busy_ns;
}

static enum sched_fault take_boundary(struct sched *s, uint32_t job) {
    struct sched_state *st = &s->st;
    struct sched_job *j = &st->jobs[job];
    if (!j->admitted || j->running || state_wants(j)) return SCHED_FAULT_WITHIN;
    j->iterations++;
    j->iteration_ns = state_mean(j->iteration_ns, j->iteration_busy_ns);
    if (j->turn) measure_lap(st, j);
    control_loop_boundary(s, job, request_end(st, j));
    ready_iterated(s, job);
    j->iteration_busy_ns = 0;
    j->iteration++;
    turn_boundary(s, job);
    admit_boundary(s, job);
    turn_update(s, job);
    return SCHED_FAULT_NONE;
}

static enum sched_fault take_set(struct sched *s, uint32_t job, const struct sched_spec *spec) {
    struct sched_spec *mine = &s->st.jobs[job].spec;
    bool paused = spec->paused && !mine->paused;
    mine->weight = spec->weight ? spec->weight : 1;
    mine->priority = spec->priority;
    mine->paused = spec->paused;
    mine->iterations = spec->iterations;
    mine->duration_ns = spec->duration_ns;
    mine->request_ns = spec->request_ns;
    if (mine->slo_ns != spec->slo_ns || mine->slo_of != spec->slo_of) {
        mine->slo_ns = spec->slo_ns;
        mine->slo_of = spec->slo_of;
        control_loop_promise(s, job);
    }
    s->st.jobs[job].cap = cap_of(&s->st, &s->st.jobs[job]);
    if (paused) turn_revoke(s, job);
    turn_requeue(s, job);
    admit_moved(s, job);
    ready_changed(s, job);
    return SCHED_FAULT_NONE;
}

static enum sched_fault take_of_job(struct sched *s, uint32_t job, const struct sched_event *e) {
    if (s->st.jobs[job].left) return SCHED_FAULT_GONE;
    switch (e->kind) {
    case SCHED_LEFT: return take_left(s, job);
    case SCHED_BOUNDARY: return take_boundary(s, job);
    case SCHED_ASKED: grow_asked(s, job, &e->need, e->patient); break;
    case SCHED_MEASURED: admit_reserved(s, job, &e->need); break;
    case SCHED_SET: return take_set(s, job, &e->spec);
    case SCHED_WANTED: admit_wanted(s, job); break;
    case SCHED_HELD: s->st.jobs[job].held_ns = s->st.now_ns; break;
    case SCHED_FIXED: s->st.jobs[job].spec.fixed = true; break;
    default: return SCHED_FAULT_KIND;
    }
    return SCHED_FAULT_NONE;
}

static enum sched_fault take_policy(struct sched *s, const struct sched_event *e) {
    if (sched_policy_check(&e->policy, NULL, 0)) return SCHED_FAULT_POLICY;
    life_change(s); /* the first valid SCHED_POLICY applies s->entry, which was prepared from the
                       last one */
    return SCHED_FAULT_NONE;
}

static __attribute__((noinline)) enum sched_fault take_other(struct sched *s,
                                                             const struct sched_event *e) {
    switch (e->kind) {
    case SCHED_TIME: return SCHED_FAULT_NONE;
    case SCHED_POLICY: return take_policy(s, e);
    case SCHED_JOINED: return take_joined(s, e);
    default: break;
    }
    uint32_t job = jobmap_find(&s->st.map, e->job);
    return job == JOBMAP_NONE ? SCHED_FAULT_NO_JOB : take_of_job(s, job, e);
}

/* Most events concern operations, and are handled without a further call. */
static inline enum sched_fault judge_event(struct sched *s, const struct sched_event *e) {
    if (e->kind != SCHED_DONE && e->kind != SCHED_SUBMITTED) return take_other(s, e);
    uint32_t job = jobmap_find(&s->st.map, e->job);
    if (job == JOBMAP_NONE) return SCHED_FAULT_NO_JOB;
    if (e->kind == SCHED_DONE) return take_done(s, job, e);
    return s->st.jobs[job].left ? SCHED_FAULT_GONE : take_submitted(s, job, e);
}

static __attribute__((noinline)) void reject(struct sched *s, const struct sched_event *e,
                                             enum sched_fault fault) {
    struct sched_action *a = sched_emit(s, SCHED_REJECT, SCHED_NONE);
    a->job = e->job;
    a->rejected.event = e->kind;
    a->rejected.fault = fault;
}

static inline void take_event(struct sched *s, const struct sched_event *e) {
    enum sched_fault fault = judge_event(s, e);
    if (fault != SCHED_FAULT_NONE) reject(s, e, fault);
}

/* ---- the order of events -------------------------------------------------------------------- */

/* LEFT is taken last if an earlier event in the array is of the same job and of a kind that is
 * taken after LEFT. */
static bool left_waits(const struct sched_event *events, uint32_t left) {
    for (uint32_t i = 0; i < left; i++)
        if (events[i].job == events[left].job && events[i].kind > SCHED_LEFT) return true;
    return false;
}

static bool ranks(const struct sched_event *events, uint32_t i, uint32_t rank) {
    uint32_t kind = events[i].kind;
    if (rank == SCHED_LEFT) return kind == rank && !left_waits(events, i);
    if (rank < SCHED_EVENTS) return kind == rank;
    return kind >= SCHED_EVENTS || (kind == SCHED_LEFT && left_waits(events, i));
}

/* Takes the events kind by kind, with one pass over all for each kind present: both are few. */
static __attribute__((noinline)) void
take_unsorted(struct sched *s, const struct sched_event *events, uint32_t count, uint32_t kinds) {
    if (kinds & 1u << SCHED_LEFT) kinds |= 1u << SCHED_EVENTS;
    for (; kinds; kinds &= kinds - 1) {
        uint32_t rank = (uint32_t)__builtin_ctz(kinds);
        for (uint32_t i = 0; i < count; i++)
            if (ranks(events, i, rank)) take_event(s, &events[i]);
    }
}

/* Events are usually in order already; these are taken as they come. */
static void take_events(struct sched *s, const struct sched_event *events, uint32_t count,
                        struct room_batch batch) {
    if (batch.unsorted) {
        take_unsorted(s, events, count, batch.kinds);
        return;
    }
    for (uint32_t i = 0; i < count; i++)
        take_event(s, &events[i]);
}

/* ---- running operations --------------------------------------------------------------------- */

/* Sets the stream priority (Orion, section 5.1.2), lazily when the job's first operation runs. */
static void set_level(struct sched *s, uint32_t job) {
    struct sched_job *j = &s->st.jobs[job];
    uint8_t level = s->config.priorities && state_high(j);
    if (level == j->level) return;
    j->level = level;
    sched_emit(s, SCHED_LEVEL, job)->level = level;
}

static void run_op(struct sched *s, uint32_t op) {
    struct sched_state *st = &s->st;
    struct sched_op *o = &st->ops[op];
    struct sched_job *j = &st->jobs[o->job];
    set_level(s, o->job);
    sched_emit(s, SCHED_RUN, o->job)->op = o->name;
    unlink_op(st, op);
    change_waits(st, j, -1);
    o->list = SCHED_RUNNING;
    append_op(st, op);
    o->expected_ns = state_expected_ns(st, o);
    share_sent(s, op);
    st->active += j->running++ == 0;
    st->running++;
    request_mixed(st);
    ready_started(s, op);
}

/* Preempts and resumes kernels as the policy asks. True: something changed, so others may run now.
 */
static bool stand_still(struct sched *s) {
    struct sched_state *st = &s->st;
    bool told = false;
    if (!st->slice_ns || !s->policy->turned) return false;
    for (uint32_t job; (job = s->policy->turned(st)) != SCHED_NONE; told = true)
        life_preempt(s, job, !st->jobs[job].still);
    return told;
}

static void run_ops(struct sched *s) {
    do
        for (uint32_t op; (op = s->st.share.on ? share_pick(s) : ready_pick(s)) != SCHED_NONE;)
            run_op(s, op);
    while (stand_still(s));
}

static void arm_timer(struct sched *s) {
    uint64_t at = turn_end_at(&s->st);
    if (s->admit_at < at) at = s->admit_at;
    if (s->measure_at < at) at = s->measure_at;
    if (s->grow_at < at) at = s->grow_at;
    if (s->part_at < at) at = s->part_at;
    if (s->idle_at < at) at = s->idle_at;
    if (s->paced_at < at) at = s->paced_at;
    if (s->period_at < at) at = s->period_at;
    if (s->steps_at < at) at = s->steps_at;
    if (s->st.share.wake_ns < at) at = s->st.share.wake_ns;
    uint64_t wake_at = ready_wake(s);
    if (wake_at < at) at = wake_at;
    if (at == s->armed_at) return;
    s->armed_at = at;
    if (at != SCHED_NEVER) sched_emit(s, SCHED_ARM, SCHED_NONE)->at_ns = at;
}

int sched_step(struct sched *s, uint64_t now_ns, const struct sched_event *events, uint32_t count,
               struct sched_actions *out) {
    struct room_batch batch = room_batch(events, count);
    int err = step_memory_reserve(s, events, count, batch.kinds);
    *out = (struct sched_actions){s->actions, 0};
    if (err) return err;
    pause_passed(&s->st, now_ns - s->st.now_ns);
    s->st.now_ns = now_ns;
    s->actions_count = 0;
    take_events(s, events, count, batch);
    control_loop_run(s);
    admit_run(s);
    turn_run(s);
    run_ops(s);
    pause_look(&s->st);
    arm_timer(s);
    *out = (struct sched_actions){s->actions, s->actions_count};
#if SCHED_CHECK
    const char *broken = sched_check(s);
    if (broken) {
        fprintf(stderr, "sched: %s\n", broken);
        abort();
    }
#endif
    return 0;
}
