/* SPDX-License-Identifier: Apache-2.0
 *
 * Whose operation is next: the queues of jobs that have one to run, kept as the kernel policy wants
 * them, and the policy told of what happens.
 */
#ifndef DAEMON_SCHED_DISPATCH_READY_H
#define DAEMON_SCHED_DISPATCH_READY_H

#include <stdint.h>

#include "daemon/sched/core.h"
#include "daemon/sched/dispatch/share.h"

/* Whatever changed, the job goes to where it belongs now in its queue. */
void ready_place(struct sched *s, uint32_t job);

/* The same where nothing but more to do came: who is in a queue already, stays where it is; who has
 * nothing to do, comes into none. */
static inline void ready_more(struct sched *s, uint32_t job) {
    const struct sched_state *st = &s->st;
    bool in = s->policy->classes ? classes_has(&st->classes, job) : ranked_has(&st->ranked, job);
    if (in ? s->policy->rank != NULL : st->jobs[job].waiting > 0) ready_place(s, job);
}

/* What happened, as the kernel policy's hooks say it (policy.h), when it has happened. */
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
    if (s->config.preempt_ns) /* what it took may have made its cap less */
        ready_place(s, o->job);
    else
        ready_more(s, o->job);
}

void ready_changed(struct sched *s, uint32_t job);
void ready_iterated(struct sched *s, uint32_t job);
/* Another kernel policy: all queues anew, of whatever waits and runs. */
void ready_rebuild(struct sched *s);
/* Of those that the policy's rule lets go, the operation that is next, or SCHED_NONE. */
uint32_t ready_of_classes(const struct sched *s);
uint32_t ready_of_loose(const struct sched *s);
/* The waiting operation to run now, or SCHED_NONE. */
static inline uint32_t ready_pick(const struct sched *s) {
    const struct ranked *r = &s->st.ranked;
    if (s->policy->classes) return ready_of_classes(s);
    if (r->heap.count == 0) return SCHED_NONE;
    if (r->loose) return ready_of_loose(s);
    uint32_t first = ranked_first(r);
    return s->st.share.on && !share_allows(s, first) ? SCHED_NONE : r->jobs[first].op;
}
/* When there may be another one although nothing happened; SCHED_NEVER. */
static inline uint64_t ready_wake(const struct sched *s) {
    return s->policy->wake ? s->policy->wake(&s->st) : SCHED_NEVER;
}

#endif
