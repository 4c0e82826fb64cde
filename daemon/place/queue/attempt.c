/* SPDX-License-Identifier: Apache-2.0
 *
 * Remembers failed demands. If nothing was freed since, a job that wants no less than a failed one
 * fails too: jobs that are added take resources and free none.
 */
#include "daemon/place/queue/attempt.h"

#include "daemon/place/assignment/answer.h"
#include "daemon/place/assignment/freed.h"
#include "daemon/place/assignment/node_reservation.h"
#include "daemon/place/assignment/placement.h"
#include "daemon/place/search/search.h"

static void swap(struct demand *a, struct demand *b) {
    struct demand keep = *a;
    *a = *b;
    *b = keep;
}

/* Reserved nodes were not tried for the failed jobs, so their beneficiary is tried anyway. Demands
 * that match often move to the front. */
static bool is_known_to_fail(struct place *p, uint32_t job) {
    const struct demand *d = &p->jobs.at[job].demand;
    if (p->failures_of != p->changes) {
        p->failures_of = p->changes;
        p->failure_count = 0;
    }
    for (uint32_t i = 0; job != p->kept_for && i < p->failure_count; i++) {
        if (!demand_includes(d, &p->failures[i])) continue;
        if (i) swap(&p->failures[i - 1], &p->failures[i]);
        return true;
    }
    return false;
}

/* Remembers a failed demand in place of those that it makes redundant, or of the last one. A job
 * that avoids certain GPUs says nothing about others. */
static void remember(struct place *p, uint32_t job) {
    const struct job *it = &p->jobs.at[job];
    uint32_t count = 0;
    if (jobs_is_there(&p->jobs, &it->shunned)) return;
    for (uint32_t i = 0; i < p->failure_count; i++)
        if (!demand_includes(&p->failures[i], &it->demand)) p->failures[count++] = p->failures[i];
    if (count == STATE_FAILURES) count--;
    p->failures[count++] = it->demand;
    p->failure_count = count;
}

static bool refuse(struct place *p, uint32_t job) {
    const char *why = node_models_fault(&p->makes, &p->jobs.at[job].demand);
    if (!why) return false;
    answer_refuse(p, job, why);
    jobs_refuse(&p->jobs, job);
    node_reservation_forget(p, job);
    return true;
}

bool attempt_run(struct place *p, uint32_t job) {
    if (!attempt_is_worth(p, job) || !p->makes.count) return true;
    if (!p->jobs.at[job].tried && refuse(p, job)) return false;
    bool known = !freed_may_help(p, job) || is_known_to_fail(p, job);
    if (known || !search_run(p, job)) {
        if (!known) remember(p, job);
        jobs_set_tried(&p->jobs, job, p->changes);
        return true;
    }
    answer_start(p, job);
    placement_start(p, job, p->search.found);
    node_reservation_forget(p, job);
    return false;
}
