/* SPDX-License-Identifier: Apache-2.0
 *
 * Chooses the next operation: maintains the queues of jobs that have one to run, in the form that
 * the kernel policy requires, and informs the policy of events.
 */
#ifndef DAEMON_SCHED_DISPATCH_READY_H
#define DAEMON_SCHED_DISPATCH_READY_H

#include <stdint.h>

#include "daemon/sched/core.h"
#include "daemon/sched/dispatch/share.h"

/* Moves the job to its place in its queue after any change. */
void ready_place(struct sched *s, uint32_t job);

/* Moves the job to its place after it only gained waiting operations. A job that is queued already
 * stays where it is; a job without waiting operations enters no queue. */
static inline void ready_more(struct sched *s, uint32_t job) {
    const struct sched_state *st = &s->st;
    bool in = s->policy->classes ? classes_has(&st->classes, job) : ranked_has(&st->ranked, job);
    if (in ? s->policy->rank != NULL : st->jobs[job].waiting > 0) ready_place(s, job);
}

/* The functions below report an event to the kernel policy's hooks (policy.h) after it has
 * happened. */
static inline void ready_submitted(struct sched *s, uint32_t op) {
    if (s->policy->submitted) s->policy->submitted(&s->st, op);
    ready_more(s, s->st.ops[op].job);
}

static inline void ready_started(struct sched *s, uint32_t op) {
    const struct sched_op *o = &s->st.ops[op];
    if (s->policy->classes) {
        classes_count(&s->st.classes, o->job, state_kernel(o), o->kernel.sms, o->expected_ns, 1);
        classes_served(&s->st.classes, o->job);
    }
    if (s->policy->started) s->policy->started(&s->st, op);
    ready_place(s, o->job);
}

static inline void ready_ended(struct sched *s, uint32_t op) {
    const struct sched_op *o = &s->st.ops[op];
    if (s->policy->classes)
        classes_count(&s->st.classes, o->job, state_kernel(o), o->kernel.sms, o->expected_ns, -1);
    if (s->policy->ended) s->policy->ended(&s->st, op);
    if (s->config.preempt_ns) /* the measured time may have lowered the job's cap */
        ready_place(s, o->job);
    else
        ready_more(s, o->job);
}

void ready_changed(struct sched *s, uint32_t job);
void ready_iterated(struct sched *s, uint32_t job);
/* Rebuilds all queues from the waiting and running operations for a new kernel policy. */
void ready_rebuild(struct sched *s);
/* Returns the next operation among those that the policy's rule admits, or SCHED_NONE. */
uint32_t ready_of_classes(const struct sched *s);
uint32_t ready_of_loose(const struct sched *s);
/* Returns the waiting operation to run now, or SCHED_NONE. */
static inline uint32_t ready_pick(const struct sched *s) {
    const struct ranked *r = &s->st.ranked;
    if (s->policy->classes) return ready_of_classes(s);
    if (r->heap.count == 0) return SCHED_NONE;
    if (r->loose) return ready_of_loose(s);
    uint32_t first = ranked_first(r);
    return s->st.share.on && !share_allows(s, first) ? SCHED_NONE : r->jobs[first].op;
}
/* Time at which another operation may become runnable without an event; SCHED_NEVER: none. */
static inline uint64_t ready_wake(const struct sched *s) {
    return s->policy->wake ? s->policy->wake(&s->st) : SCHED_NEVER;
}

#endif
