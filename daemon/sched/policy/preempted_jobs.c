/* SPDX-License-Identifier: Apache-2.0
 *
 * A list whose links are in the jobs' items.
 */
#include "daemon/sched/policy/preempted_jobs.h"

uint32_t preempted_next(struct preempted_jobs_in in, uint32_t job) {
    return (job == PREEMPTED_NONE ? in.all->first : preempted_job(in, job)->next) - 1;
}

void preempted_enter(struct preempted_jobs_in in, uint32_t job) {
    struct preempted_job *j = preempted_job(in, job);
    if (j->in) return;
    *j = (struct preempted_job){.next = in.all->first, .in = true};
    if (j->next) preempted_job(in, j->next - 1)->prev = job + 1;
    in.all->first = job + 1;
}

void preempted_leave(struct preempted_jobs_in in, uint32_t job) {
    struct preempted_job *j = preempted_job(in, job);
    if (!j->in) return;
    if (j->stands) in.all->count--;
    if (j->prev)
        preempted_job(in, j->prev - 1)->next = j->next;
    else
        in.all->first = j->next;
    if (j->next) preempted_job(in, j->next - 1)->prev = j->prev;
    *j = (struct preempted_job){0};
}

void preempted_set(struct preempted_jobs_in in, uint32_t job, bool stands, uint64_t now_ns) {
    struct preempted_job *j = preempted_job(in, job);
    if (stands == j->stands) return;
    j->stands = stands;
    in.all->look = true;
    if (!stands)
        in.all->count--;
    else if (in.all->count++ == 0)
        in.all->until_ns = now_ns + PREEMPTED_MOST_NS;
}

const char *preempted_check(struct preempted_jobs_in in, uint32_t jobs) {
    uint32_t found = 0, listed = 0, standing = 0, last = PREEMPTED_NONE;
    for (uint32_t i = preempted_next(in, PREEMPTED_NONE); i != PREEMPTED_NONE;
         i = preempted_next(in, i)) {
        const struct preempted_job *j = preempted_job(in, i);
        if (i >= jobs || listed++ == jobs) return "stand: the list has no end";
        if (!j->in || j->prev - 1 != last) return "stand: two links disagree";
        standing += j->stands;
        last = i;
    }
    for (uint32_t i = 0; i < jobs; i++)
        found += preempted_job(in, i)->in;
    if (found != listed) return "stand: the list lost a job";
    return standing == in.all->count ? NULL : "stand: paused jobs were miscounted";
}
