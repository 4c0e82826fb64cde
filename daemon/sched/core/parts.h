/* SPDX-License-Identifier: Apache-2.0
 *
 * What the parts of the scheduler call of each other: step.c takes events and runs operations,
 * room.c reserves what a step may need, life.c begins and ends, and changes policies, admit.c lets
 * jobs in, turn.c gives out turns, ready.c knows whose operation is next and calls the kernel
 * policy, own.c has that policy's memory, check.c and ready_check.c hold all of it against its
 * invariants. Nobody else includes this.
 */
#ifndef DAEMON_SCHED_CORE_PARTS_H
#define DAEMON_SCHED_CORE_PARTS_H

#include "daemon/sched/core/order.h"
#include "daemon/sched/policy/lane_policy.h"
#include "daemon/sched/policy/policy.h"
#include "daemon/sched/state.h"

#define SCHED_LEASE_LEAST_NS 10000000ull /* of learned iterations, when lease_ns is not less */

/* Another policy, ready to be entered. */
struct sched_entry {
    const struct policy *policy; /* NULL: none is to be */
    struct sched_own own;
    const struct lane_policy *lane_policy;
    struct policy_config config;
};

struct sched {
    struct sched_state st;
    const struct policy *policy;
    const struct lane_policy *lane_policy;
    struct policy_config config; /* with every default filled in */
    struct sched_entry entry;    /* reserved for POLICY of this step */
    struct sched_action *actions;
    uint32_t actions_cap, actions_count;
    uint32_t *order; /* of the step's events, when they are not sorted */
    uint32_t order_cap;
    uint32_t dirty; /* list of domains to look at, in the order in which they became so */
    uint32_t last_dirty;
    bool share_users;    /* lanes take jobs of different users */
    bool look;           /* memory came back or somebody came: look at the pending jobs */
    uint64_t releases;   /* times that jobs left or changed what they need, from 1 */
    uint64_t lease_at;   /* no lease ends before; SCHED_NEVER */
    uint64_t admit_at;   /* no pending job times out before */
    uint64_t measure_at; /* the measured job is taken as it is */
    uint64_t armed_at;
};

/* Room was reserved before the step began. */
static inline struct sched_action *sched_emit(struct sched *s, enum sched_action_kind kind,
                                              uint32_t job) {
    struct sched_action *a = &s->actions[s->actions_count++];
    *a = (struct sched_action){.kind = kind, .lane = SCHED_NO_LANE};
    if (job != SCHED_NONE) {
        a->job = s->st.jobs[job].id;
        a->lane = s->st.jobs[job].lane;
    }
    return a;
}

/* ---- config.c -------------------------------------------------------------------------------- */

/* The configuration with every knob's value (no AUTO is left, nothing is said of none), and the two
 * policies that it names. 0, or -EINVAL and a sentence. */
int config_resolve(const struct policy_config *in, struct policy_config *out,
                   const struct lane_policy **lane, const struct policy **kernel, char *why,
                   size_t why_bytes);

/* ---- room.c ---------------------------------------------------------------------------------- */

extern const struct sched_domain room_domain; /* a new one */
/* All room that a step with these events can need, or -ENOMEM. *unsorted: they are not in the order
 * of their kinds. */
int room_reserve(struct sched *s, const struct sched_event *events, uint32_t count, bool *unsorted);

/* ---- life.c ---------------------------------------------------------------------------------- */

/* Makes s->entry ready for the last valid POLICY of a step: 0 or -ENOMEM. */
int life_prepare(struct sched *s, const struct sched_event *events, uint32_t count);
/* Other policies from now on: s->entry, if it is ready. No operation and no place is lost. */
void life_change(struct sched *s);

/* ---- own.c ----------------------------------------------------------------------------------- */

/* A policy's memory with items for slots below `jobs`, zeroed: 0 or -ENOMEM, and then to be
 * dropped. */
int own_make(const struct policy *policy, uint32_t jobs, struct sched_own *out);
/* For slots below `jobs`; there were `before`. 0 or -ENOMEM. */
int own_grow(const struct policy *policy, uint32_t before, uint32_t jobs, struct sched_own *own);
/* The job's item, and what it points to: another job gets the slot. */
void own_forget(const struct policy *policy, struct sched_own *own, uint32_t job);
/* NULL, or that the item of a slot without a job is not empty. */
const char *own_check(const struct policy *policy, const struct sched_own *own, uint32_t job);
/* `jobs`: items that may point to blocks. */
void own_drop(const struct policy *policy, uint32_t jobs, struct sched_own *own);
bool own_memory(const struct policy *policy, uint32_t jobs, struct sched_own *own,
                memory_visit *visit, void *arg);

/* ---- ready.c --------------------------------------------------------------------------------- */

/* Whatever changed, the job goes to where it belongs now in its queue. */
void ready_place(struct sched *s, uint32_t job);

/* The same where nothing but more to do came: who is in a queue already, stays where it is. */
static inline void ready_more(struct sched *s, uint32_t job) {
    const struct sched_state *st = &s->st;
    bool in = s->policy->classes ? classes_has(&st->classes, job) : ranked_has(&st->ranked, job);
    if (!in || s->policy->rank) ready_place(s, job);
}

/* What happened, as the kernel policy's hooks say it (policy.h), when it has happened. */
static inline void ready_submitted(struct sched *s, uint32_t op) {
    if (s->policy->submitted) s->policy->submitted(&s->st, op);
    ready_more(s, s->st.ops[op].job);
}

static inline void ready_started(struct sched *s, uint32_t op) {
    const struct sched_op *o = &s->st.ops[op];
    if (s->policy->classes) {
        classes_count(&s->st.classes, o->job, state_kernel(o), o->expected_ns, 1);
        classes_served(&s->st.classes, o->job);
    }
    if (s->policy->started) s->policy->started(&s->st, op);
    ready_place(s, o->job);
}

static inline void ready_ended(struct sched *s, uint32_t op) {
    const struct sched_op *o = &s->st.ops[op];
    if (s->policy->classes)
        classes_count(&s->st.classes, o->job, state_kernel(o), o->expected_ns, -1);
    if (s->policy->ended) s->policy->ended(&s->st, op);
    if (s->config.preempt_ns) /* what it took may have made its cap less */
        ready_place(s, o->job);
    else
        ready_more(s, o->job);
}

void ready_changed(struct sched *s, uint32_t job);
void ready_iterated(struct sched *s, uint32_t job);
/* Another kernel policy: all queues anew, of whatever waits and runs. */
void ready_rebuild(struct sched *s);
/* The waiting operation to run now, or SCHED_NONE. */
uint32_t ready_pick(const struct sched *s);
/* When there may be another one although nothing happened; SCHED_NEVER. */
static inline uint64_t ready_wake(const struct sched *s) {
    return s->policy->wake ? s->policy->wake(&s->st) : SCHED_NEVER;
}
/* NULL, or which invariant of the queues does not hold. */
const char *ready_check(const struct sched *s);

/* ---- cap.c ----------------------------------------------------------------------------------- */

/* K of the job as it is now: how many of its operations may be on the device. */
uint32_t cap_of(const struct sched_state *st, const struct sched_job *j);
/* An operation of it took so much of the device's time. */
void cap_learn(struct sched_state *st, struct sched_job *j, uint64_t busy_ns);

/* ---- request.c ------------------------------------------------------------------------------- */

/* An operation of the job's current iteration came. */
void request_begin(struct sched_state *st, struct sched_job *j);
/* Its iteration is complete. */
void request_end(struct sched_state *st, struct sched_job *j);
/* What is on the device changes now: until this moment, jobs may have shared it. */
static inline void sched_request_mixed(struct sched_state *st) {
    if (st->active > 1) st->mixed_ns = st->now_ns;
}

/* ---- admit.c --------------------------------------------------------------------------------- */

void admit_joined(struct sched *s, uint32_t job);
/* It is gone and nothing of it runs: its memory is free. */
void admit_left(struct sched *s, uint32_t job);
/* Its P and E are to grow to these: GRANT or DENY. */
void admit_asked(struct sched *s, uint32_t job, const struct sched_need *need);
void admit_reserved(struct sched *s, uint32_t job, const struct sched_need *need);
/* The job is at a boundary: its lane may shrink, it may be moved or swapped out. */
void admit_boundary(struct sched *s, uint32_t job);
/* Its place in the queue changed, if it is pending. */
void admit_moved(struct sched *s, uint32_t job);
/* Another policy: all queues anew. */
void admit_reorder(struct sched *s);
/* Timeouts that are due; then PROCESSREQUESTS. */
void admit_look(struct sched *s);
/* If there is reason to look. */
static inline void admit_run(struct sched *s) {
    if (s->look || s->st.now_ns >= s->admit_at || s->st.now_ns >= s->measure_at) admit_look(s);
}

/* ---- turn.c ---------------------------------------------------------------------------------- */

/* Something changed that may make the job ready, or no longer ready. */
void turn_update(struct sched *s, uint32_t job);
/* And its rank or priority did. */
void turn_requeue(struct sched *s, uint32_t job);
/* Its current iteration is complete. */
void turn_boundary(struct sched *s, uint32_t job);
/* Nothing of it runs any more: a revoked turn ends here. */
void turn_idle(struct sched *s, uint32_t job);
/* It starts nothing more; its turn ends when nothing of it runs. */
void turn_revoke(struct sched *s, uint32_t job);
/* Before the job's slot is freed. */
void turn_forget(struct sched *s, uint32_t job);
/* Before its lane changes, and after. */
void turn_detach(struct sched *s, uint32_t job);
void turn_attach(struct sched *s, uint32_t job);
/* Leases that ended; then every free turn to whom it belongs. */
void turn_look(struct sched *s);
/* If there is reason to look. */
static inline void turn_run(struct sched *s) {
    if (s->dirty != SCHED_NONE || s->st.now_ns >= s->lease_at) turn_look(s);
}
/* Another lane policy, or another way of exclusive: all queues anew. */
void turn_rebuild(struct sched *s, const struct lane_policy *policy, bool exclusive);

#endif
