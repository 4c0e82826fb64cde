/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks the invariants: redundant data must agree.
 */
#include "daemon/place/place_check.h"
#include "daemon/place/assignment/capacity.h"
#include "daemon/place/state/curve.h"
#include "daemon/place/state/place_policy.h"

static bool same_use(const struct gpus_use *a, const struct gpus_use *b) {
    return a->persistent_bytes == b->persistent_bytes && a->ephemeral_bytes == b->ephemeral_bytes &&
           a->util_ppm == b->util_ppm && a->service_ppm == b->service_ppm && a->slack == b->slack &&
           a->jobs == b->jobs && a->services == b->services && a->alone == b->alone;
}

static uint64_t room_of(const struct place *p, const struct gpu *gpu) {
    uint64_t within = curve_within(&p->config.curves[gpu->curve], gpu->use.slack);
    return p->policy->room ? p->policy->room(p, &gpu->use, within) : UINT64_MAX;
}

static const char *gpu_breaks(const struct place *p, const struct node *n, const struct gpu *gpu) {
    struct gpus_use use = gpus_use_none();
    for (uint32_t s = gpu->first_seat; s != GPUS_NONE; s = p->gpus.seats[s].next) {
        const struct job *job = &p->jobs.at[p->gpus.seats[s].job];
        if (job->state != JOBS_RUNNING) return "a job that does not run is on a GPU";
        gpus_use_add(&use, &job->demand);
    }
    if (!same_use(&use, &gpu->use)) return "a GPU's use is not that of the jobs on it";
    if (gpu->cpu_milli != nodes_cpu_milli(n) || gpu->node_bytes != nodes_bytes(n))
        return "a GPU's record of its node is wrong";
    bool open = !n->shut && !capacity_closed(p, gpu);
    if (open != (gpu->tree != GPUS_NONE))
        return "a GPU is in the index and should not be, or the reverse";
    if (open && gpu->room_ppm != room_of(p, gpu)) return "a GPU's free memory is recorded wrongly";
    if (open && (gpu->tree & 1) != n->kept) return "a GPU is in a wrong tree";
    return NULL;
}

static const char *node_breaks(const struct place *p) {
    for (uint32_t i = 0; i < p->nodes.used; i++) {
        const struct node *n = &p->nodes.at[i];
        if (!n->here) continue;
        if (n->met || n->taken) return "a search left temporary state behind";
        if (n->kept && (p->kept_for == JOBS_NONE || n->shut))
            return "a node is reserved for no job";
        for (uint32_t g = 0; g < n->gpu_count; g++) {
            const char *broken = gpu_breaks(p, n, &p->gpus.at[n->gpu_first + g]);
            if (broken) return broken;
        }
    }
    return NULL;
}

static const char *order_breaks(const struct place *p) {
    uint32_t count = 0, untried = 0, before = JOBS_NONE;
    for (uint32_t i = p->jobs.first; i != JOBS_NONE; before = i, i = p->jobs.at[i].next) {
        const struct job *it = &p->jobs.at[i];
        if (it->state != JOBS_WAITING) return "a job that does not wait is in the queue";
        if (it->before != before) return "the queue's links are broken";
        if (before != JOBS_NONE &&
            (!jobs_goes_before(&p->jobs, before, i) || p->jobs.at[before].since_ns > it->since_ns))
            return "the queue is not in the order of turns and arrival";
        count++;
        untried += !it->tried;
    }
    if (count != p->jobs.waiting || untried != p->jobs.untried)
        return "the number of waiting jobs is wrong";
    if (p->kept_for != JOBS_NONE && p->jobs.at[p->kept_for].state != JOBS_WAITING)
        return "nodes are reserved for a job that does not wait";
    return NULL;
}

static const char *seats_break(const struct place *p) {
    uint64_t seats = 0, cpu_milli = 0, used_milli = 0;
    for (uint32_t i = 0; i < p->jobs.used; i++) {
        const struct job *it = &p->jobs.at[i];
        if (!it->start || it->state != JOBS_RUNNING) continue;
        for (uint32_t s = it->first_seat; s != GPUS_NONE; s = p->gpus.seats[s].of_job, seats++)
            if (p->gpus.seats[s].job != i) return "two jobs have the same place on a GPU";
        cpu_milli += it->demand.cpu_milli * it->demand.tasks;
    }
    for (uint32_t i = 0; i < p->nodes.used; i++)
        if (p->nodes.at[i].here) used_milli += p->nodes.at[i].used_cpu_milli;
    if (seats != p->gpus.seats_count) return "the number of places on a GPU is wrong";
    return cpu_milli == used_milli ? NULL : "the CPU in use is counted wrongly";
}

const char *place_check(const struct place *p) {
    const char *broken = node_breaks(p);
    if (!broken) broken = order_breaks(p);
    if (!broken) broken = seats_break(p);
    if (!broken) broken = index_check(&p->index, &p->gpus);
    if (broken || !p->policy->fills) return broken;
    return hosts_check(&p->hosts, &p->nodes, &p->gpus);
}
