/* SPDX-License-Identifier: Apache-2.0
 *
 * The queues of jobs that have an operation to run, and the choice of the next operation. This is
 * the core's side of the kernel policy interface, and the only file that calls its hooks. Counters
 * change first, then the policy is informed, then the job moves to its place.
 */
#include "daemon/sched/dispatch/ready.h"

#include "daemon/sched/core.h"
#include "daemon/sched/dispatch/share.h"

/* ---- places ---------------------------------------------------------------------------------- */

static __attribute__((noinline)) void put_ranked(struct sched *s, uint32_t job, uint32_t op) {
    if (s->policy->rank)
        ranked_put(&s->st.ranked, job, s->policy->rank(&s->st, job), 0, op);
    else
        share_put(s, job, op);
}

/* Calls functions only in tail position, so that an operation's path keeps nothing on the stack. */
void ready_place(struct sched *s, uint32_t job) {
    struct sched_state *st = &s->st;
    uint32_t op = state_oldest(st, job);
    if (s->policy->classes)
        classes_wants(&st->classes, job, op != SCHED_NONE);
    else if (op == SCHED_NONE)
        ranked_take(&st->ranked, job);
    else if (s->policy->rank || st->share.on)
        put_ranked(s, job, op);
    else
        ranked_put(&st->ranked, job, st->ops[op].arrival, 0, op);
}

/* Adds the job's operations on the device to the counters of its class, or subtracts them, when the
 * job changes its class. */
static void count_job(struct sched_state *st, uint32_t job, int change) {
    uint32_t op = st->jobs[job].head[SCHED_RUNNING];
    for (; op != SCHED_NONE; op = st->ops[op].next) {
        const struct sched_op *o = &st->ops[op];
        classes_count(&st->classes, job, state_kernel(o), o->kernel.sms, o->expected_ns, change);
    }
}

/* Recomputes the shortest request latency of the high-priority jobs. */
static void requests(struct sched_state *st) {
    struct classes *c = &st->classes;
    c->request_ns = c->high_count ? UINT64_MAX : 0;
    for (uint32_t i = 0; i < c->high_count; i++) {
        uint64_t ns = state_request_ns(&st->jobs[c->high[i]]);
        if (ns < c->request_ns) c->request_ns = ns;
    }
}

static void classify(struct sched_state *st, uint32_t job) {
    enum class class = state_class(&st->jobs[job]), before = classes_of(&st->classes, job);
    if (class != before) {
        count_job(st, job, -1);
        classes_set(&st->classes, job, class);
        count_job(st, job, 1);
    }
    if (class == CLASS_HIGH || before == CLASS_HIGH) requests(st);
}

/* ---- events --------------------------------------------------------------------------------- */

void ready_changed(struct sched *s, uint32_t job) {
    if (s->policy->classes) classify(&s->st, job);
    if (s->policy->changed) s->policy->changed(&s->st, job);
    ready_place(s, job);
}

void ready_iterated(struct sched *s, uint32_t job) {
    if (s->policy->classes && classes_of(&s->st.classes, job) == CLASS_HIGH) requests(&s->st);
    if (s->policy->iterated) s->policy->iterated(&s->st, job);
}

static void take_over(struct sched *s, uint32_t job) {
    const struct sched_state *st = &s->st;
    for (uint32_t list = 0; list < SCHED_LISTS; list++)
        for (uint32_t op = st->jobs[job].head[list]; op != SCHED_NONE; op = st->ops[op].next)
            if (list == SCHED_RUNNING)
                ready_started(s, op);
            else
                ready_submitted(s, op);
}

void ready_rebuild(struct sched *s) {
    ranked_clear(&s->st.ranked, s->policy->may != NULL);
    classes_clear(&s->st.classes);
    for (uint32_t job = 0; job < s->st.jobs_cap; job++)
        if (s->st.jobs[job].used) take_over(s, job);
}

/* ---- the next operation --------------------------------------------------------------------- */

uint32_t ready_of_loose(const struct sched *s) {
    const struct ranked *r = &s->st.ranked;
    const struct ranked_job *jobs = r->jobs;
    const uint32_t *items = r->heap.items, *end = items + r->heap.count;
    uint32_t best = SCHED_NONE;
    uint64_t least = UINT64_MAX;
    for (; items != end; items++) {
        const struct ranked_job *j = &jobs[*items];
        if (j->rank >= least || !s->policy->may(&s->st, j->op)) continue;
        best = j->op;
        least = j->rank;
    }
    return best;
}

uint32_t ready_of_classes(const struct sched *s) {
    const struct sched_state *st = &s->st;
    const struct classes *c = &st->classes;
    if (c->first[CLASS_HIGH] != CLASSES_NONE) return state_oldest(st, c->first[CLASS_HIGH]);
    uint32_t first = c->first[CLASS_BEST], job = first;
    if (first == CLASSES_NONE) return SCHED_NONE;
    if (s->policy->next) return s->policy->next(st);
    do {
        uint32_t op = state_runnable(st, job, SCHED_MEMORY);
        if (op != SCHED_NONE) return op;
        op = state_runnable(st, job, SCHED_KERNEL);
        if (!s->policy->may || s->policy->may(st, op)) return op;
        job = classes_next(c, job);
    } while (job != first);
    return SCHED_NONE;
}
