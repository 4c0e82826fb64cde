/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds nodes for tasks of several GPUs (hosts.h). The heap has each node's next task, whose cost
 * is that of its most expensive GPU; the task gets the node's cheapest free GPUs. The result equals
 * that of search.c, GPU by GPU.
 */
#include "daemon/place/search/search_host.h"

#include <math.h>

#include "daemon/place/assignment/capacity.h"
#include "daemon/place/search/search_heap.h"
#include "daemon/place/search/search_task.h"

/* A GPU of a node that fits. */
struct offer {
    struct state_key key;
    uint32_t number;
};

static bool is_cheaper(const struct state_key *a, const struct state_key *b) {
    return a->cost != b->cost ? a->cost < b->cost : a->turn < b->turn;
}

/* Lists the node's fitting GPUs, the cheapest first. Returns their number. */
static uint32_t list_offers(const struct place *p, const struct job *job, const struct node *n,
                            struct offer *offers) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < n->gpu_count; i++) {
        const struct gpu *gpu = &p->gpus.at[n->gpu_first + i];
        if (gpu->tree == GPUS_NONE || !search_fits(p, job, gpu)) continue;
        struct offer it = {{search_cost(p, &job->demand, gpu), gpu->turn}, i};
        uint32_t at = count++;
        for (; at && is_cheaper(&it.key, &offers[at - 1].key); at--)
            offers[at] = offers[at - 1];
        offers[at] = it;
    }
    return count;
}

static void push_node(struct place *p, uint32_t job, uint32_t node) {
    const struct job *it = &p->jobs.at[job];
    const struct node *n = &p->nodes.at[node];
    struct offer offers[PLACE_GPUS_A_NODE];
    uint32_t wants = (n->taken + 1) * it->demand.gpus;
    if (n->kept && job != p->kept_for) return;
    if (wants > n->gpu_count || !nodes_hold(n, &it->demand, n->taken + 1)) return;
    if (!capacity_allows(p, &it->demand, n->labels, n->side)) return;
    if (list_offers(p, it, n, offers) < wants) return;
    const struct state_key *dearest = &offers[wants - 1].key;
    search_push(p, 2 * node, dearest->cost, dearest->turn);
    if (it->demand.tasks == 1 && dearest->cost < p->search.best) p->search.best = dearest->cost;
}

/* The most memory that may be in use on a task's most expensive GPU before the task is added. */
static uint64_t most_bytes(const struct demand *d, const struct index_kind *kind,
                           const struct hosts_span *span) {
    return hosts_below(span, hosts_class(d->gpus), kind->memory_bytes,
                       kind->memory_bytes - d->persistent_bytes);
}

/* False if no node of a branch can take a task. */
static bool may_host(const struct place *p, const struct demand *d, const struct index_kind *kind,
                     const struct hosts_span *span) {
    uint32_t class = hosts_class(d->gpus);
    if (span->ppm[class] == UINT64_MAX || (d->alone && span->ppm[class])) return false;
    if (!kind) return true;
    return span->ppm[class] + d->util_ppm <= p->search.limit_ppm[kind->curve] &&
           span->bytes[class] + d->persistent_bytes <= kind->memory_bytes &&
           most_bytes(d, kind, span) != UINT64_MAX && capacity_may(p, d, kind, &span->gpus);
}

static const struct index_kind *kind_of(const struct place *p, uint32_t kind) {
    return kind == HOSTS_MIXED ? NULL : &p->index.kinds[kind].kind;
}

/* Lower bound of a task's cost on any node of a branch. With k GPUs per task, the most expensive
 * one uses at least as much as the k-th least used GPU. It uses at most as much as the k-th most
 * used GPU, or as the most used one with space. */
static double bound_of(const struct place *p, const struct demand *d, const struct index_kind *kind,
                       const struct hosts_span *span) {
    struct gpus_span gpus = span->gpus;
    uint32_t class = hosts_class(d->gpus);
    if (!kind) return -INFINITY;
    gpus.least_bytes = span->bytes[class];
    gpus.most_bytes = most_bytes(d, kind, span);
    gpus.most_ppm = span->full_ppm[class];
    return search_bound(p, d, kind, &gpus);
}

static void push_branch(struct place *p, const struct demand *d, uint32_t root) {
    if (root == NODES_NONE) return;
    const struct host *h = &p->hosts.at[root];
    const struct index_kind *kind = kind_of(p, h->kind);
    if (!may_host(p, d, kind, &h->span)) return;
    double bound = bound_of(p, d, kind, &h->span);
    if (bound <= p->search.best) search_push(p, 2 * root + 1, bound, h->span.gpus.first);
}

static void open_branch(struct place *p, uint32_t job, uint32_t root) {
    const struct demand *d = &p->jobs.at[job].demand;
    const struct host *h = &p->hosts.at[root];
    const struct index_kind *kind = kind_of(p, h->kind);
    if (may_host(p, d, kind, &h->own) && bound_of(p, d, kind, &h->own) <= p->search.best)
        push_node(p, job, root);
    push_branch(p, d, h->left);
    push_branch(p, d, h->right);
}

static void take(struct place *p, uint32_t job, uint32_t node, uint32_t tasks) {
    const struct job *it = &p->jobs.at[job];
    struct node *n = &p->nodes.at[node];
    struct offer offers[PLACE_GPUS_A_NODE];
    list_offers(p, it, n, offers);
    for (uint32_t i = 0; i < it->demand.gpus; i++)
        n->met |= (uint64_t)1 << offers[n->taken * it->demand.gpus + i].number;
    if (!n->taken) p->search.touched[p->search.touched_count++] = node;
    search_take_task(p, node, tasks);
}

uint32_t search_hosts(struct place *p, uint32_t job) {
    const struct demand *d = &p->jobs.at[job].demand;
    uint32_t tasks = 0;
    for (uint32_t k = 0; k < p->hosts.roots_count; k++) {
        const struct index_kind *kind = &p->index.kinds[k].kind;
        if (capacity_allows(p, d, kind->labels, kind->side)) push_branch(p, d, p->hosts.roots[k]);
    }
    push_branch(p, d, p->hosts.mixed);
    while (p->search.heap.count && tasks < d->tasks) {
        uint32_t item = search_pop(p);
        if (item & 1) {
            open_branch(p, job, item / 2);
            continue;
        }
        take(p, job, item / 2, tasks++);
        push_node(p, job, item / 2);
    }
    return tasks;
}
