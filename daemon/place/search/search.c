/* SPDX-License-Identifier: Apache-2.0
 *
 * Best-first search over a heap of GPUs and of branches of the index (search_heap.h).
 */
#include "daemon/place/search/search.h"

#include <math.h>
#include <stdlib.h>

#include "daemon/place/assignment/capacity.h"
#include "daemon/place/search/search_heap.h"
#include "daemon/place/search/search_host.h"
#include "daemon/place/search/search_task.h"
#include "daemon/place/state/place_growth.h"

void search_finish(struct state_search *s) {
    free(s->heap.items);
    free(s->keys);
    free(s->found);
    free(s->touched);
}

/* A GPU is in the heap up to twice: as itself, and as the root of a branch. */
int search_reserve(struct state_search *s, uint64_t gpus, uint64_t nodes) {
    int err = 0;
    s->heap.items =
        place_growth_for(s->heap.items, &s->items_capacity, 2 * gpus, sizeof(*s->heap.items), &err);
    s->keys = place_growth_for(s->keys, &s->keys_capacity, 2 * gpus, sizeof(*s->keys), &err);
    s->found = place_growth_for(s->found, &s->found_capacity, gpus, sizeof(*s->found), &err);
    s->touched =
        place_growth_for(s->touched, &s->touched_capacity, nodes, sizeof(*s->touched), &err);
    return err;
}

/* ---- GPUs and branches ------------------------------------------------------------------------
 */

static void push_branch(struct place *p, const struct demand *d, const struct index_kind *kind,
                        uint32_t root) {
    if (root == GPUS_NONE) return;
    const struct gpus_span *span = &p->gpus.at[root].span;
    if (!capacity_may(p, d, kind, span)) return;
    double bound = search_bound(p, d, kind, span);
    if (bound <= p->search.best) search_push(p, 2 * root + 1, bound, span->first);
}

/* Pushes a GPU that fits. If the job wants only one GPU, no GPU with a higher cost can be
 * chosen. */
static void push_gpu(struct place *p, const struct demand *d, uint32_t at) {
    const struct gpu *gpu = &p->gpus.at[at];
    double cost = search_cost(p, d, gpu);
    if (cost > p->search.best) return;
    search_push(p, 2 * at, cost, gpu->turn);
    bool held = gpu->cpu_milli >= d->cpu_milli && gpu->node_bytes >= d->memory_bytes;
    if (held && demand_gpus(d) == 1) p->search.best = cost;
}

/* Replaces a branch by its root and its two sub-branches. */
static void open_branch(struct place *p, const struct job *job, uint32_t root) {
    const struct demand *d = &job->demand;
    const struct gpu *gpu = &p->gpus.at[root];
    const struct index_kind *kind = &p->index.kinds[gpu->kind].kind;
    if (search_fits(p, job, gpu)) push_gpu(p, d, root);
    push_branch(p, d, kind, gpu->left);
    push_branch(p, d, kind, gpu->right);
}

/* ---- tasks ----------------------------------------------------------------------------------- */

/* Marks a GPU. Returns true if its node now has all GPUs of one more task. */
static bool meet(struct place *p, const struct demand *d, const struct gpu *gpu) {
    struct node *n = &p->nodes.at[gpu->node];
    if (!nodes_hold(n, d, n->taken + 1)) return false;
    if (!n->met && !n->taken) p->search.touched[p->search.touched_count++] = gpu->node;
    n->met |= (uint64_t)1 << gpu->number;
    return (uint32_t)__builtin_popcountll(n->met) == d->gpus;
}

static void begin(struct place *p, const struct demand *d) {
    struct state_search *s = &p->search;
    s->heap.count = s->touched_count = 0;
    s->best = INFINITY;
    for (uint32_t i = 0; i < p->config.curve_count; i++)
        s->limit_ppm[i] =
            p->policy->limit ? p->policy->limit(p, d, &p->config.curves[i]) : p->util_most_ppm;
}

static void end(struct place *p) {
    for (uint32_t i = 0; i < p->search.touched_count; i++) {
        struct node *n = &p->nodes.at[p->search.touched[i]];
        n->met = n->taken = 0;
    }
}

static void push_all(struct place *p, uint32_t job) {
    const struct demand *d = &p->jobs.at[job].demand;
    for (uint32_t i = 0; i < p->index.count; i++) {
        const struct index_trees *x = &p->index.kinds[i];
        if (!capacity_allows(p, d, x->kind.labels, x->kind.side)) continue;
        for (uint32_t t = 0; t < INDEX_TREES; t++) {
            bool kept = t & 1;
            if (kept && job != p->kept_for) continue;
            push_branch(p, d, &x->kind, x->roots[t]);
        }
    }
}

/* Returns the number of tasks that found GPUs. */
static uint32_t one_by_one(struct place *p, uint32_t job) {
    const struct job *it = &p->jobs.at[job];
    uint32_t tasks = 0;
    push_all(p, job);
    while (p->search.heap.count && tasks < it->demand.tasks) {
        uint32_t item = search_pop(p);
        const struct gpu *gpu = &p->gpus.at[item / 2];
        if (item & 1)
            open_branch(p, it, item / 2);
        else if (meet(p, &it->demand, gpu))
            search_take_task(p, gpu->node, tasks++);
    }
    return tasks;
}

bool search_run(struct place *p, uint32_t job) {
    const struct demand *d = &p->jobs.at[job].demand;
    if (demand_gpus(d) > p->gpus.count) return false;
    begin(p, d);
    uint32_t tasks = d->gpus > 1 && p->policy->fills ? search_hosts(p, job) : one_by_one(p, job);
    end(p);
    return tasks == d->tasks;
}
