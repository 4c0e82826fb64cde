/* SPDX-License-Identifier: Apache-2.0
 *
 * Where nothing was freed since, whoever wants no less than one that found no place finds none
 * either: jobs that are added take room and give none.
 */
#include "daemon/place/attempt.h"

#include "daemon/place/answer.h"
#include "daemon/place/keep.h"
#include "daemon/place/running.h"
#include "daemon/place/search.h"

/* Nodes that are kept for it were not looked at for the others. */
static bool is_known_to_fail(struct place *p, uint32_t job) {
    const struct demand *d = &p->jobs.at[job].demand;
    if (p->failures_of != p->changes) {
        p->failures_of = p->changes;
        p->failure_count = 0;
    }
    for (uint32_t i = 0; job != p->kept_for && i < p->failure_count; i++)
        if (demand_includes(d, &p->failures[i])) return true;
    return false;
}

/* A job that shuns GPUs says nothing about others. */
static void remember(struct place *p, uint32_t job) {
    const struct job *it = &p->jobs.at[job];
    if (p->failure_count < STATE_FAILURES && !jobs_is_there(&p->jobs, &it->shunned))
        p->failures[p->failure_count++] = it->demand;
}

static bool refuse(struct place *p, uint32_t job) {
    const char *why = makes_fault(&p->makes, &p->jobs.at[job].demand);
    if (!why) return false;
    answer_refuse(p, job, why);
    jobs_refuse(&p->jobs, job);
    keep_forget(p, job);
    return true;
}

bool attempt_run(struct place *p, uint32_t job) {
    if (!attempt_is_worth(p, job) || !p->makes.count) return true;
    if (!p->jobs.at[job].tried && refuse(p, job)) return false;
    bool known = is_known_to_fail(p, job);
    if (known || !search_run(p, job)) {
        if (!known) remember(p, job);
        jobs_set_tried(&p->jobs, job, p->changes);
        return true;
    }
    answer_start(p, job);
    running_start(p, job, p->search.found);
    keep_forget(p, job);
    return false;
}
