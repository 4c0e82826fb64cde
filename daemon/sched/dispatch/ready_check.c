/* SPDX-License-Identifier: Apache-2.0
 *
 * Compares the queues of ready jobs with the jobs themselves.
 */
#include "daemon/sched/dispatch/ready_check.h"

#include "daemon/sched/core.h"
#include "daemon/sched/dispatch/policy_memory.h"
#include "daemon/sched/dispatch/share.h"

static const char *check_ranked(const struct sched *s) {
    const struct sched_state *st = &s->st;
    for (uint32_t job = 0; job < st->jobs_cap; job++) {
        uint32_t op = st->jobs[job].used ? state_oldest(st, job) : SCHED_NONE;
        if (ranked_has(&st->ranked, job) != (op != SCHED_NONE))
            return "the queue by rank does not match the jobs that can run";
        if (op == SCHED_NONE) continue;
        if (st->ranked.jobs[job].op != op) return "a job's queued operation is not its oldest";
        uint64_t rank = st->share.on ? share_rank(s, job) : st->ops[op].arrival;
        if (!s->policy->rank && st->ranked.jobs[job].rank != rank) return "a job's rank is wrong";
    }
    return ranked_check(&st->ranked);
}

/* Checks a job's class, and adds the expected counts to `sum`. */
static const char *check_of_class(const struct sched_state *st, uint32_t job, struct classes *sum) {
    const struct sched_job *j = &st->jobs[job];
    const struct class_slot *slot = &st->classes.slots[job];
    if (!j->used) return slot->in || slot->class ? "a job that has left has a class" : NULL;
    if (slot->class != state_class(j)) return "a job is in the wrong class";
    if (slot->in != (state_oldest(st, job) != SCHED_NONE))
        return "a ring does not match the jobs that can run";
    sum->high_count += slot->class == CLASS_HIGH;
    for (uint32_t op = j->head[SCHED_RUNNING]; op != SCHED_NONE; op = st->ops[op].next) {
        sum->running[slot->class]++;
        if (slot->class == CLASS_HIGH || !state_kernel(&st->ops[op])) continue;
        sum->kernels++;
        sum->outstanding_ns += st->ops[op].expected_ns;
        sum->sms += st->ops[op].kernel.sms;
    }
    return NULL;
}

static const char *check_classes(const struct sched_state *st) {
    const struct classes *c = &st->classes;
    struct classes sum = {0};
    for (uint32_t job = 0; job < st->jobs_cap; job++) {
        const char *broken = check_of_class(st, job, &sum);
        if (broken) return broken;
    }
    if (sum.high_count != c->high_count) return "high-priority jobs were miscounted";
    if (sum.running[CLASS_BEST] != c->running[CLASS_BEST] ||
        sum.running[CLASS_HIGH] != c->running[CLASS_HIGH] || sum.kernels != c->kernels ||
        sum.outstanding_ns != c->outstanding_ns || sum.sms != c->sms)
        return "operations on the device were miscounted";
    return NULL;
}

const char *ready_check(const struct sched *s) {
    for (uint32_t job = 0; job < s->st.jobs_cap; job++) {
        const char *broken =
            s->st.jobs[job].used ? NULL : policy_memory_check(s->policy, &s->st.own, job);
        if (broken) return broken;
    }
    return s->policy->classes ? check_classes(&s->st) : check_ranked(s);
}
