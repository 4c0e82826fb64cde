/* SPDX-License-Identifier: Apache-2.0
 *
 * Read-only queries of a placement.
 */
#include "daemon/place/place_look.h"

#include <errno.h>

#include "daemon/place/assignment/capacity.h"
#include "daemon/place/assignment/cost.h"
#include "daemon/place/state/curve.h"

static const struct gpu *find(const struct place *p, const struct place_where *where) {
    uint32_t node = nodes_find(&p->nodes, where->node);
    if (node == NODES_NONE || where->gpu >= p->nodes.at[node].gpu_count) return NULL;
    return &p->gpus.at[p->nodes.at[node].gpu_first + where->gpu];
}

int place_look(const struct place *p, const struct place_where *where, struct place_use *use) {
    const struct gpu *gpu = find(p, where);
    if (!gpu) return -ENOENT;
    *use = (struct place_use){
        .jobs = gpu->use.jobs,
        .util = (double)gpu->use.util_ppm / CURVE_WHOLE,
        .memory_bytes = gpus_bytes(&gpu->use),
        .slowdown = curve_slowdown(&p->config.curves[gpu->curve], gpu->use.util_ppm),
    };
    return 0;
}

double place_cost(const struct place *p, const struct place_job *job,
                  const struct place_where *where) {
    const struct gpu *gpu = find(p, where);
    if (!gpu || demand_fault(job)) return -1;
    const struct node *n = &p->nodes.at[gpu->node];
    struct demand d = demand_of(job, p->config.memory);
    if (n->shut || capacity_closed(p, gpu) || !nodes_hold(n, &d, 1)) return -1;
    if (!capacity_allows(p, &d, n->labels, n->side) || !capacity_fits(p, &d, gpu)) return -1;
    return cost_of(p, &d, gpu);
}
