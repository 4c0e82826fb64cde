/* SPDX-License-Identifier: Apache-2.0
 *
 * A few nodes are remembered one by one; beyond that limit every job is tried again.
 */
#include "daemon/place/assignment/freed.h"

#include "daemon/place/assignment/capacity.h"

void freed_add(struct place *p, uint32_t node) {
    struct state_freed *f = &p->freed_next;
    p->changes++;
    for (uint32_t i = 0; i < f->count && i < STATE_FREED; i++)
        if (f->nodes[i] == node) return;
    if (f->count < STATE_FREED) f->nodes[f->count] = node;
    if (f->count <= STATE_FREED) f->count++;
}

static void most(uint64_t *a, uint64_t b) {
    if (b > *a) *a = b;
}

static uint64_t room(const struct gpu *gpu, uint64_t used_bytes) {
    return gpu->memory_bytes > used_bytes ? gpu->memory_bytes - used_bytes : 0;
}

void freed_begin(struct place *p) {
    struct state_freed *f = &p->freed;
    *f = p->freed_next;
    p->freed_next.count = 0;
    f->cpu_milli = f->memory_bytes = f->persistent_bytes = f->bytes = 0;
    for (uint32_t i = 0; i < f->count && i < STATE_FREED; i++) {
        const struct node *n = &p->nodes.at[f->nodes[i]];
        most(&f->cpu_milli, nodes_cpu_milli(n));
        most(&f->memory_bytes, nodes_bytes(n));
        for (uint32_t g = n->gpu_first; n->here && g < n->gpu_first + n->gpu_count; g++) {
            const struct gpu *gpu = &p->gpus.at[g];
            if (gpu->tree == GPUS_NONE) continue;
            most(&f->persistent_bytes, room(gpu, gpus_bytes(&gpu->use)));
            most(&f->bytes, room(gpu, gpu->use.persistent_bytes));
        }
    }
}

static bool gives_a_task(const struct place *p, const struct node *n, uint32_t job) {
    const struct demand *d = &p->jobs.at[job].demand;
    uint32_t gpus = 0;
    if (!n->here || n->shut || (n->kept && job != p->kept_for)) return false;
    if (!nodes_hold(n, d, 1) || !capacity_allows(p, d, n->labels, n->side)) return false;
    for (uint32_t g = n->gpu_first; g < n->gpu_first + n->gpu_count && gpus < d->gpus; g++) {
        const struct gpu *gpu = &p->gpus.at[g];
        gpus += gpu->tree != GPUS_NONE && capacity_fits(p, d, gpu);
    }
    return gpus == d->gpus;
}

/* Resources freed during a pass also count for the jobs that are still to be tried in that pass. */
bool freed_may_help(const struct place *p, uint32_t job) {
    const struct state_freed *f = &p->freed;
    const struct demand *d = &p->jobs.at[job].demand;
    if (p->jobs.at[job].tried != p->passed) return true;
    if (f->count > STATE_FREED || p->freed_next.count) return true;
    if (d->cpu_milli > f->cpu_milli || d->memory_bytes > f->memory_bytes ||
        d->persistent_bytes > f->persistent_bytes || demand_bytes(d) > f->bytes)
        return false;
    for (uint32_t i = 0; i < f->count; i++)
        if (gives_a_task(p, &p->nodes.at[f->nodes[i]], job)) return true;
    return false;
}
