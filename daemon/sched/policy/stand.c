/* SPDX-License-Identifier: Apache-2.0
 *
 * A list whose links are in the jobs' items.
 */
#include "daemon/sched/policy/stand.h"

uint32_t stand_next(struct stand_in in, uint32_t job) {
    return (job == STAND_NONE ? in.all->first : stand_job(in, job)->next) - 1;
}

void stand_enter(struct stand_in in, uint32_t job) {
    struct stand_job *j = stand_job(in, job);
    if (j->in) return;
    *j = (struct stand_job){.next = in.all->first, .in = true};
    if (j->next) stand_job(in, j->next - 1)->prev = job + 1;
    in.all->first = job + 1;
}

void stand_leave(struct stand_in in, uint32_t job) {
    struct stand_job *j = stand_job(in, job);
    if (!j->in) return;
    if (j->stands) in.all->count--;
    if (j->prev)
        stand_job(in, j->prev - 1)->next = j->next;
    else
        in.all->first = j->next;
    if (j->next) stand_job(in, j->next - 1)->prev = j->prev;
    *j = (struct stand_job){0};
}

void stand_set(struct stand_in in, uint32_t job, bool stands, uint64_t now_ns) {
    struct stand_job *j = stand_job(in, job);
    if (stands == j->stands) return;
    j->stands = stands;
    in.all->look = true;
    if (!stands)
        in.all->count--;
    else if (in.all->count++ == 0)
        in.all->until_ns = now_ns + STAND_MOST_NS;
}

const char *stand_check(struct stand_in in, uint32_t jobs) {
    uint32_t found = 0, listed = 0, standing = 0, last = STAND_NONE;
    for (uint32_t i = stand_next(in, STAND_NONE); i != STAND_NONE; i = stand_next(in, i)) {
        const struct stand_job *j = stand_job(in, i);
        if (i >= jobs || listed++ == jobs) return "stand: the list has no end";
        if (!j->in || j->prev - 1 != last) return "stand: a link is not that of both";
        standing += j->stands;
        last = i;
    }
    for (uint32_t i = 0; i < jobs; i++)
        found += stand_job(in, i)->in;
    if (found != listed) return "stand: the list lost a job";
    return standing == in.all->count ? NULL : "stand: those who stand were miscounted";
}
