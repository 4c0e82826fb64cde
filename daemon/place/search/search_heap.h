/* SPDX-License-Identifier: Apache-2.0
 *
 * The heap of the searches: found GPUs with their costs, and branches with a lower bound of their
 * GPUs' costs. Among equal costs the GPU that arrived first comes first; a branch counts as its
 * first GPU. An item is 2 * index for a GPU and 2 * index + 1 for a branch.
 *
 * Owner: struct place. Thread: its owner's.
 */
#ifndef DAEMON_PLACE_SEARCH_SEARCH_HEAP_H
#define DAEMON_PLACE_SEARCH_SEARCH_HEAP_H

#include "daemon/place/state/place_policy.h"
#include "daemon/place/state/place_state.h"

static inline bool search_goes_first(const void *keys, uint32_t a, uint32_t b) {
    const struct state_key *x = (const struct state_key *)keys + a;
    const struct state_key *y = (const struct state_key *)keys + b;
    return x->cost != y->cost ? x->cost < y->cost : x->turn < y->turn;
}

static inline void search_push(struct place *p, uint32_t item, double cost, uint64_t turn) {
    p->search.keys[item] = (struct state_key){cost, turn};
    minheap_add(&p->search.heap, item, search_goes_first, p->search.keys);
}

static inline uint32_t search_pop(struct place *p) {
    return minheap_take(&p->search.heap, search_goes_first, p->search.keys);
}

/* Without costs, or with first_fit, all GPUs cost the same. */
static inline bool search_has_costs(const struct place *p) {
    return p->policy->cost && !p->config.first_fit;
}

static inline double search_cost(const struct place *p, const struct demand *d,
                                 const struct gpu *gpu) {
    return search_has_costs(p) ? p->policy->cost(p, d, gpu) : 0;
}

static inline double search_bound(const struct place *p, const struct demand *d,
                                  const struct index_kind *kind, const struct gpus_span *span) {
    return search_has_costs(p) ? p->policy->bound(p, d, kind, span) : 0;
}

#endif
