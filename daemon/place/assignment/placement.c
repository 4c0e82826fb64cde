/* SPDX-License-Identifier: Apache-2.0
 *
 * A GPU leaves the index before it changes, and is added again after its node is updated as well.
 */
#include "daemon/place/assignment/placement.h"

#include "daemon/place/assignment/capacity.h"
#include "daemon/place/assignment/freed.h"
#include "daemon/place/assignment/sides.h"
#include "daemon/place/state/curve.h"
#include "daemon/place/state/place_policy.h"

static uint64_t key_of(const struct place *p, const struct gpu *gpu) {
    if (p->config.first_fit) return 0; /* the index is then ordered by arrival alone */
    return p->policy->by_util ? gpu->use.util_ppm : gpus_bytes(&gpu->use);
}

/* Chooses the shelf by the quantity that does not order the trees: eighths of a GPU's time, or
 * elevenths of its memory. */
static uint32_t shelf_of(const struct place *p, const struct gpu *gpu) {
    uint64_t eighths = (gpu->use.util_ppm * 8 + CURVE_WHOLE - 1) / CURVE_WHOLE;
    uint64_t elevenths = gpus_bytes(&gpu->use) * (INDEX_SHELVES - 1) / gpu->memory_bytes;
    uint64_t shelf = p->policy->by_util ? elevenths : eighths;
    if (p->policy->one_shelf || p->config.first_fit) return 0;
    return shelf < INDEX_SHELVES ? (uint32_t)shelf : INDEX_SHELVES - 1;
}

/* Caches the latest answer, because most services of a cluster have the same slack. */
static uint64_t within(struct place *p, const struct gpu *gpu) {
    struct state_within *w = &p->within[gpu->curve];
    if (w->ppm && w->slack == gpu->use.slack) return w->ppm;
    *w = (struct state_within){gpu->use.slack,
                               curve_within(&p->config.curves[gpu->curve], gpu->use.slack)};
    return w->ppm;
}

static uint64_t room_of(struct place *p, const struct gpu *gpu) {
    return p->policy->room ? p->policy->room(p, &gpu->use, within(p, gpu)) : UINT64_MAX;
}

static void take_out(struct place *p, uint32_t gpu) {
    if (p->gpus.at[gpu].tree != GPUS_NONE) index_remove(&p->index, &p->gpus, gpu);
}

static void put_in(struct place *p, uint32_t gpu, bool kept) {
    struct gpu *it = &p->gpus.at[gpu];
    it->room_ppm = room_of(p, it);
    index_add(&p->index, &p->gpus, gpu, shelf_of(p, it), kept, key_of(p, it));
}

/* Copies the node's free resources into its GPUs, and adds to the index those that may take
 * jobs. */
static void settle(struct place *p, uint32_t node) {
    const struct node *n = &p->nodes.at[node];
    uint64_t cpu_milli = nodes_cpu_milli(n), bytes = nodes_bytes(n);
    for (uint32_t i = n->gpu_first; i < n->gpu_first + n->gpu_count; i++) {
        struct gpu *gpu = &p->gpus.at[i];
        bool changed = gpu->cpu_milli != cpu_milli || gpu->node_bytes != bytes;
        gpu->cpu_milli = cpu_milli;
        gpu->node_bytes = bytes;
        if (gpu->tree != GPUS_NONE && changed)
            index_refresh(&p->index, &p->gpus, i);
        else if (gpu->tree == GPUS_NONE && !n->shut && !capacity_closed(p, gpu))
            put_in(p, i, n->kept);
    }
    if (p->policy->fills) hosts_update(&p->hosts, &p->nodes, &p->gpus, node);
}

static void take_out_all(struct place *p, const struct node *n) {
    for (uint32_t i = 0; i < n->gpu_count; i++)
        take_out(p, n->gpu_first + i);
}

/* ---- jobs ------------------------------------------------------------------------------------ */

static uint32_t node_of(const struct place *p, uint32_t seat) {
    return p->gpus.at[p->gpus.seats[seat].gpu].node;
}

static uint32_t skip(const struct place *p, uint32_t seat, uint32_t count) {
    while (count--)
        seat = p->gpus.seats[seat].of_job;
    return seat;
}

static void recount(struct place *p, uint32_t gpu) {
    struct gpus_use use = gpus_use_none();
    for (uint32_t s = p->gpus.at[gpu].first_seat; s != GPUS_NONE; s = p->gpus.seats[s].next)
        gpus_use_add(&use, &p->jobs.at[p->gpus.seats[s].job].demand);
    p->gpus.at[gpu].use = use;
}

void placement_start(struct place *p, uint32_t job, const uint32_t *gpus) {
    struct job *it = &p->jobs.at[job];
    const struct demand *d = &it->demand;
    jobs_run(&p->jobs, job, p->now_ns);
    it->first_seat = GPUS_NONE;
    for (uint32_t i = demand_gpus(d); i > 0; i--) {
        uint32_t gpu = gpus[i - 1];
        take_out(p, gpu);
        it->first_seat = gpus_sit(&p->gpus, gpu, job, it->first_seat);
        gpus_use_add(&p->gpus.at[gpu].use, d);
    }
    for (uint32_t i = 0; i < demand_gpus(d); i += d->gpus) {
        struct node *n = &p->nodes.at[p->gpus.at[gpus[i]].node];
        n->used_cpu_milli += d->cpu_milli;
        n->used_bytes += d->memory_bytes;
        n->jobs++;
        settle(p, p->gpus.at[gpus[i]].node);
    }
    if (p->policy->started) p->policy->started(p, job);
}

static void leave_task(struct place *p, const struct demand *d, uint32_t seat) {
    uint32_t node = node_of(p, seat);
    struct node *n = &p->nodes.at[node];
    for (uint32_t i = 0; i < d->gpus; i++, seat = p->gpus.seats[seat].of_job) {
        uint32_t gpu = p->gpus.seats[seat].gpu;
        take_out(p, gpu);
        gpus_rise(&p->gpus, seat);
        recount(p, gpu);
    }
    n->used_cpu_milli -= d->cpu_milli;
    n->used_bytes -= d->memory_bytes;
    n->jobs--;
    settle(p, node);
    freed_add(p, node);
}

void placement_leave(struct place *p, uint32_t job) {
    struct job *it = &p->jobs.at[job];
    const struct demand *d = &it->demand;
    for (uint32_t task = 0, next; task < d->tasks; task++, it->first_seat = next) {
        next = skip(p, it->first_seat, d->gpus);
        leave_task(p, d, it->first_seat);
    }
    it->start = 0;
}

void placement_change(struct place *p, uint32_t job, const struct demand *d) {
    struct job *it = &p->jobs.at[job];
    bool less = !demand_includes(d, &it->demand);
    it->demand = *d;
    for (uint32_t s = it->first_seat; s != GPUS_NONE; s = p->gpus.seats[s].of_job) {
        uint32_t gpu = p->gpus.seats[s].gpu;
        take_out(p, gpu);
        recount(p, gpu);
        settle(p, p->gpus.at[gpu].node);
        if (less) freed_add(p, p->gpus.at[gpu].node);
    }
}

uint64_t placement_room_bytes(const struct place *p, uint32_t job) {
    const struct job *it = &p->jobs.at[job];
    uint64_t least = UINT64_MAX;
    for (uint32_t s = it->first_seat; s != GPUS_NONE; s = p->gpus.seats[s].of_job) {
        const struct gpu *gpu = &p->gpus.at[p->gpus.seats[s].gpu];
        uint64_t others = gpu->use.persistent_bytes - it->demand.persistent_bytes;
        uint64_t room = gpu->memory_bytes > others ? gpu->memory_bytes - others : 0;
        if (room < least) least = room;
    }
    return least;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static void add_gpu(struct place *p, uint32_t node, uint32_t number, const struct place_gpu *told) {
    const struct node *n = &p->nodes.at[node];
    const struct index_kind kind = {told->memory_bytes, n->labels, told->curve, n->side};
    p->gpus.at[n->gpu_first + number] = (struct gpu){.memory_bytes = told->memory_bytes,
                                                     .turn = p->turns * PLACE_GPUS_A_NODE + number,
                                                     .node = node,
                                                     .number = number,
                                                     .curve = told->curve,
                                                     .use = gpus_use_none(),
                                                     .first_seat = GPUS_NONE,
                                                     .kind = index_kind(&p->index, &kind),
                                                     .tree = GPUS_NONE};
}

void placement_add_node(struct place *p, const struct place_node *node) {
    uint32_t place = nodes_add(&p->nodes, node);
    struct node *n = &p->nodes.at[place];
    n->gpu_first = gpus_add(&p->gpus, n->gpu_count);
    n->make = node_models_of(&p->makes, node);
    n->side = sides_come(p, n->gpu_count);
    node_models_come(&p->makes, n->make);
    for (uint32_t i = 0; i < n->gpu_count; i++)
        add_gpu(p, place, i, &node->gpus[i]);
    p->turns++;
    if (p->policy->fills) hosts_add(&p->hosts, &p->nodes, &p->gpus, place);
    settle(p, place);
    freed_add(p, place);
}

void placement_remove_node(struct place *p, uint32_t node) {
    struct node *n = &p->nodes.at[node];
    take_out_all(p, n);
    if (p->policy->fills) hosts_remove(&p->hosts, node);
    sides_go(p, n->side, n->gpu_count);
    node_models_go(&p->makes, n->make, !n->shut);
    gpus_remove(&p->gpus, n->gpu_first, n->gpu_count);
    nodes_remove(&p->nodes, node);
}

void placement_shut(struct place *p, uint32_t node, bool shut) {
    struct node *n = &p->nodes.at[node];
    if (n->shut == shut) return;
    n->shut = shut;
    node_models_set_open(&p->makes, n->make, !shut);
    take_out_all(p, n);
    settle(p, node);
    if (!shut) freed_add(p, node);
}

void placement_keep(struct place *p, uint32_t node, bool kept) {
    struct node *n = &p->nodes.at[node];
    n->kept = kept;
    take_out_all(p, n);
    settle(p, node);
    if (!kept) freed_add(p, node);
}
