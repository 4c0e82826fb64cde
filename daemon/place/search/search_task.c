/* SPDX-License-Identifier: Apache-2.0
 *
 * Selects the GPUs of one task (search_task.h).
 */
#include "daemon/place/search/search_task.h"

#include "daemon/place/assignment/capacity.h"

static bool is_on(const struct place *p, uint32_t job, const struct gpu *gpu) {
    for (uint32_t s = gpu->first_seat; s != GPUS_NONE; s = p->gpus.seats[s].next)
        if (p->gpus.seats[s].job == job) return true;
    return false;
}

/* Policy pab: the job avoids GPUs of the job that it slowed down, as long as that job runs
 * there. */
static bool shuns(const struct place *p, const struct job *job, const struct gpu *gpu) {
    return jobs_is_there(&p->jobs, &job->shunned) && is_on(p, job->shunned.job, gpu);
}

bool search_fits(const struct place *p, const struct job *job, const struct gpu *gpu) {
    return capacity_fits(p, &job->demand, gpu) && !shuns(p, job, gpu);
}

void search_take_task(struct place *p, uint32_t node, uint32_t tasks) {
    struct node *n = &p->nodes.at[node];
    uint32_t *to = &p->search.found[tasks * (uint32_t)__builtin_popcountll(n->met)];
    for (uint64_t met = n->met; met; met &= met - 1)
        *to++ = n->gpu_first + (uint32_t)__builtin_ctzll(met);
    n->met = 0;
    n->taken++;
}
