/* SPDX-License-Identifier: Apache-2.0
 *
 * The best first: a heap of GPUs and of branches of the index, each with its cost or with what
 * nothing in it costs less than. Of equal costs the GPU that came first goes first, and a branch
 * goes as its first one would.
 */
#include "daemon/place/search.h"

#include <math.h>
#include <stdlib.h>

#include "daemon/place/capacity.h"
#include "daemon/place/policy.h"
#include "daemon/place/room.h"

void search_finish(struct state_search *s) {
    free(s->heap.items);
    free(s->keys);
    free(s->found);
    free(s->touched);
}

/* A GPU is in the heap as itself and as the branch that it is the root of. */
int search_reserve(struct state_search *s, uint64_t gpus, uint64_t nodes) {
    int err = 0;
    s->heap.items =
        room_for(s->heap.items, &s->items_capacity, 2 * gpus, sizeof(*s->heap.items), &err);
    s->keys = room_for(s->keys, &s->keys_capacity, 2 * gpus, sizeof(*s->keys), &err);
    s->found = room_for(s->found, &s->found_capacity, gpus, sizeof(*s->found), &err);
    s->touched = room_for(s->touched, &s->touched_capacity, nodes, sizeof(*s->touched), &err);
    return err;
}

/* ---- the heap: numbers are 2 * GPU, and 2 * GPU + 1 for a branch ------------------------------
 */

static inline bool goes_first(const void *keys, uint32_t a, uint32_t b) {
    const struct state_key *x = (const struct state_key *)keys + a;
    const struct state_key *y = (const struct state_key *)keys + b;
    return x->cost != y->cost ? x->cost < y->cost : x->turn < y->turn;
}

static void push(struct place *p, uint32_t item, double cost, uint64_t turn) {
    p->search.keys[item] = (struct state_key){cost, turn};
    minheap_add(&p->search.heap, item, goes_first, p->search.keys);
}

static uint32_t pop(struct place *p) {
    return minheap_take(&p->search.heap, goes_first, p->search.keys);
}

static void push_branch(struct place *p, const struct demand *d, const struct index_kind *kind,
                        uint32_t root) {
    if (root == GPUS_NONE) return;
    const struct gpus_span *span = &p->gpus.at[root].span;
    if (!capacity_may(p, d, kind, span)) return;
    push(p, 2 * root + 1, p->policy->bound ? p->policy->bound(p, d, kind, span) : 0, span->first);
}

static bool is_on(const struct place *p, uint32_t job, const struct gpu *gpu) {
    for (uint32_t s = gpu->first_seat; s != GPUS_NONE; s = p->gpus.seats[s].next)
        if (p->gpus.seats[s].job == job) return true;
    return false;
}

/* Policy pab's: where the job was stopped for whom it slowed down, and who is there still. */
static bool shuns(const struct place *p, const struct job *job, const struct gpu *gpu) {
    return jobs_is_there(&p->jobs, &job->shunned) && is_on(p, job->shunned.job, gpu);
}

/* A branch is its root and two branches. */
static void open_branch(struct place *p, const struct job *job, uint32_t root) {
    const struct demand *d = &job->demand;
    const struct gpu *gpu = &p->gpus.at[root];
    const struct index_kind *kind = &p->index.kinds[gpu->kind].kind;
    if (capacity_fits(p, d, gpu) && !shuns(p, job, gpu))
        push(p, 2 * root, p->policy->cost ? p->policy->cost(p, d, gpu) : 0, gpu->turn);
    push_branch(p, d, kind, gpu->left);
    push_branch(p, d, kind, gpu->right);
}

/* ---- tasks ----------------------------------------------------------------------------------- */

static void take_task(struct place *p, struct node *n, uint32_t tasks) {
    uint32_t *to = &p->search.found[tasks * (uint32_t)__builtin_popcountll(n->met)];
    for (uint64_t met = n->met; met; met &= met - 1)
        *to++ = n->gpu_first + (uint32_t)__builtin_ctzll(met);
    n->met = 0;
    n->taken++;
}

/* True: its node has all GPUs of one more task. */
static bool meet(struct place *p, const struct demand *d, const struct gpu *gpu) {
    struct node *n = &p->nodes.at[gpu->node];
    if (!nodes_hold(n, d, n->taken + 1)) return false;
    if (!n->met && !n->taken) p->search.touched[p->search.touched_count++] = gpu->node;
    n->met |= (uint64_t)1 << gpu->number;
    return (uint32_t)__builtin_popcountll(n->met) == d->gpus;
}

static void begin(struct place *p, uint32_t job) {
    const struct demand *d = &p->jobs.at[job].demand;
    struct state_search *s = &p->search;
    s->heap.count = s->touched_count = 0;
    for (uint32_t i = 0; i < p->config.curve_count; i++)
        s->limit_ppm[i] =
            p->policy->limit ? p->policy->limit(p, d, &p->config.curves[i]) : p->util_most_ppm;
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

static void end(struct place *p) {
    for (uint32_t i = 0; i < p->search.touched_count; i++) {
        struct node *n = &p->nodes.at[p->search.touched[i]];
        n->met = n->taken = 0;
    }
}

bool search_run(struct place *p, uint32_t job) {
    const struct job *it = &p->jobs.at[job];
    const struct demand *d = &it->demand;
    uint32_t tasks = 0;
    if (demand_gpus(d) > p->gpus.count) return false;
    begin(p, job);
    while (p->search.heap.count && tasks < d->tasks) {
        uint32_t item = pop(p);
        const struct gpu *gpu = &p->gpus.at[item / 2];
        if (item & 1)
            open_branch(p, it, item / 2);
        else if (meet(p, d, gpu))
            take_task(p, &p->nodes.at[gpu->node], tasks++);
    }
    end(p);
    return tasks == d->tasks;
}
