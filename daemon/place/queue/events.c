/* SPDX-License-Identifier: Apache-2.0
 *
 * Applies each kind of event to the state.
 */
#include "daemon/place/queue/events.h"

#include <math.h>

#include "daemon/place/assignment/node_reservation.h"
#include "daemon/place/assignment/placement.h"
#include "daemon/place/state/curve.h"
#include "daemon/place/state/place_policy.h"

static const char *const no_node = "the event's node is unknown";
static const char *const no_job = "the event's job is unknown";
static const char *const not_running = "the event's job does not run";

/* ---- nodes ----------------------------------------------------------------------------------- */

static const char *take_node(struct place *p, const struct place_event *e) {
    if (!e->node) return "the event has no data about the node";
    const char *why = nodes_fault(e->node, p->config.curve_count);
    if (why) return why;
    if (nodes_find(&p->nodes, e->node->id) != NODES_NONE) return "the node exists already";
    placement_add_node(p, e->node);
    return NULL;
}

/* Removes every job that has a GPU of the node, also from its other nodes. */
static void drive_out(struct place *p, const struct node *n) {
    for (uint32_t i = n->gpu_first; i < n->gpu_first + n->gpu_count; i++)
        while (p->gpus.at[i].first_seat != GPUS_NONE) {
            uint32_t job = p->gpus.seats[p->gpus.at[i].first_seat].job;
            placement_leave(p, job);
            jobs_wait_first(&p->jobs, job);
        }
}

static const char *take_of_node(struct place *p, const struct place_event *e) {
    uint32_t node = nodes_find(&p->nodes, e->id);
    if (node == NODES_NONE) return no_node;
    const struct node *n = &p->nodes.at[node];
    if (n->kept && e->kind != PLACE_NODE_OPEN) node_reservation_release(p);
    if (e->kind == PLACE_NODE_GONE) {
        drive_out(p, n);
        placement_remove_node(p, node);
    } else {
        placement_shut(p, node, e->kind == PLACE_NODE_SHUT);
    }
    return NULL;
}

/* ---- new jobs -------------------------------------------------------------------------------- */

static const char *new_fault(const struct place *p, const struct place_event *e) {
    if (!e->job) return "the event has no data about the job";
    if (jobs_find(&p->jobs, e->job->id) != JOBS_NONE) return "the job exists already";
    return demand_fault(e->job);
}

static uint32_t add_job(struct place *p, const struct place_job *job) {
    struct demand d = demand_of(job, p->config.memory);
    bool before = job->since_ns > 0 && job->since_ns < p->now_ns;
    return jobs_add(&p->jobs, job->id, &d, before ? job->since_ns : p->now_ns);
}

static const char *take_job(struct place *p, const struct place_event *e) {
    const char *why = new_fault(p, e);
    if (!why) jobs_wait(&p->jobs, add_job(p, e->job));
    return why;
}

/* Resolves the GPUs into search.found. Bits in their nodes (met) mark the GPUs already listed. */
static const char *find_gpus(struct place *p, const struct place_event *e) {
    uint32_t count = e->job->tasks * e->job->gpus, of_task = NODES_NONE;
    for (uint32_t i = 0; i < count; i++) {
        const struct place_where *w = &e->where[i];
        uint32_t node = nodes_find(&p->nodes, w->node);
        if (node == NODES_NONE) return no_node;
        struct node *n = &p->nodes.at[node];
        if (w->gpu >= n->gpu_count) return "the event's GPU is unknown";
        if (n->met >> w->gpu & 1) return "a GPU is given to the job twice";
        if (i % e->job->gpus && node != of_task) return "a task must have all its GPUs on one node";
        if (!n->met) p->search.touched[p->search.touched_count++] = node;
        n->met |= (uint64_t)1 << w->gpu;
        p->search.found[i] = n->gpu_first + w->gpu;
        of_task = node;
    }
    return NULL;
}

static const char *take_runs(struct place *p, const struct place_event *e) {
    const char *why = new_fault(p, e);
    if (why) return why;
    if (!e->where) return "the event has no data about the GPUs";
    p->search.touched_count = 0;
    why = find_gpus(p, e);
    for (uint32_t i = 0; i < p->search.touched_count; i++)
        p->nodes.at[p->search.touched[i]].met = 0;
    if (!why) placement_start(p, add_job(p, e->job), p->search.found);
    return why;
}

/* ---- known jobs ------------------------------------------------------------------------------ */

static const char *take_gone(struct place *p, uint32_t job) {
    if (p->jobs.at[job].state == JOBS_RUNNING) placement_leave(p, job);
    node_reservation_forget(p, job);
    jobs_remove(&p->jobs, job);
    return NULL;
}

static const char *take_failed(struct place *p, uint32_t job) {
    if (p->jobs.at[job].state != JOBS_RUNNING) return not_running;
    placement_leave(p, job);
    jobs_wait(&p->jobs, job);
    return NULL;
}

/* The job had all memory that the others left, and that was too little (Horus, section 4.2.3:
 * "equal or greater than the memory available previously placed"). Unless it already had as much as
 * any GPU has, its new demand is limited to that, because it may well run alone. */
static const char *take_memory(struct place *p, uint32_t job) {
    if (p->jobs.at[job].state != JOBS_RUNNING) return not_running;
    uint64_t had = placement_room_bytes(p, job);
    placement_leave(p, job);
    struct demand *d = &p->jobs.at[job].demand;
    uint64_t most = node_models_most(&p->makes, d);
    demand_grow(d, p->config.more, had);
    if (had < most) demand_limit(d, most);
    jobs_wait(&p->jobs, job);
    return NULL;
}

static void set_demand(struct place *p, uint32_t job, const struct demand *d) {
    if (p->jobs.at[job].state == JOBS_RUNNING) {
        placement_change(p, job, d);
        return;
    }
    node_reservation_forget(p, job);
    p->jobs.at[job].demand = *d;
    jobs_set_tried(&p->jobs, job, 0);
}

static const char *take_measured(struct place *p, uint32_t job, const struct place_event *e) {
    const char *why = demand_measured_fault(e);
    if (why) return why;
    if (p->jobs.at[job].state == JOBS_REFUSED) return "the job is refused";
    bool memory = e->persistent_bytes || e->ephemeral_bytes;
    struct demand d = p->jobs.at[job].demand;
    if (e->util > 0) d.util_ppm = curve_ppm(e->util);
    if (memory) demand_set_memory(&d, e->persistent_bytes, e->ephemeral_bytes, p->config.memory);
    if (memory || e->util > 0) set_demand(p, job, &d);
    if (e->speed > 0 && p->jobs.at[job].state == JOBS_RUNNING && p->policy->measured)
        p->policy->measured(p, job, e->speed);
    return NULL;
}

static const char *take_of_job(struct place *p, const struct place_event *e) {
    uint32_t job = jobs_find(&p->jobs, e->id);
    if (job == JOBS_NONE) return no_job;
    switch (e->kind) {
    case PLACE_GONE: return take_gone(p, job);
    case PLACE_FAILED: return take_failed(p, job);
    case PLACE_MEMORY: return take_memory(p, job);
    default: return take_measured(p, job, e);
    }
}

const char *events_take(struct place *p, const struct place_event *e) {
    switch (e->kind) {
    case PLACE_NODE: return take_node(p, e);
    case PLACE_NODE_GONE:
    case PLACE_NODE_SHUT:
    case PLACE_NODE_OPEN: return take_of_node(p, e);
    case PLACE_JOB: return take_job(p, e);
    case PLACE_RUNS: return take_runs(p, e);
    case PLACE_GONE:
    case PLACE_FAILED:
    case PLACE_MEMORY:
    case PLACE_MEASURED: return take_of_job(p, e);
    case PLACE_TIME: return NULL;
    default: return "the event's kind is unknown";
    }
}
