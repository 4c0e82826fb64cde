/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes the board and the counters.
 */
#include "daemon/worker/front/scheduler_view.h"

#include "common/atomics.h"
#include "daemon/sched/admission/grant_bound.h"
#include "daemon/sched/core/view.h"
#include "daemon/worker/client.h"

#define EVERY_NS 10000000ull

/* ---- counters -------------------------------------------------------------------------------- */

/* The job will never run again. The position of a job that was never admitted stays visible. */
static void clear_job(struct client *c) {
    struct wire_stats *s = &c->com.page->stats;
    if (atom_load_relaxed(&s->lane)) atom_store_relaxed(&s->position, 0);
    atom_store_relaxed(&s->lane, 0);
    atom_store_relaxed(&s->why, SCHED_WHY_NONE);
    atom_store_relaxed(&s->turn, 0);
}

static void write_job(struct client *c, const struct sched_job_view *v) {
    struct wire_stats *s = &c->com.page->stats;
    atom_store_relaxed(&s->lane, v->lane == SCHED_NO_LANE ? 0 : v->lane + 1ull);
    atom_store_relaxed(&s->position, v->position);
    /* A job whose client has not accepted its windows is paused by the worker, not by an operator.
     */
    atom_store_relaxed(&s->why, c->held ? SCHED_WHY_NONE : v->why);
    atom_store_relaxed(&s->turn, v->turn);
    atom_store_relaxed(&s->waited_ns, v->waited_ns);
    atom_store_relaxed(&s->iterations, v->iterations);
    atom_store_relaxed(&s->iteration_ns, v->iteration_ns);
    atom_store_relaxed(&s->request_ns, v->request_ns);
    atom_store_relaxed(&s->inflight_cap, v->inflight_cap);
    atom_store_relaxed(&s->demand_milli, v->demand_milli);
    atom_store_relaxed(&c->com.page->usage.iteration_milli, v->iteration_milli);
    atom_store_relaxed(&s->source, iteration_source(c->boundary.detector));
    atom_store_relaxed(&c->com.page->usage.boundaries_percent,
                       iteration_percent(c->boundary.detector));
    atom_store_relaxed(&s->persistent_bytes, v->persistent_bytes);
    atom_store_relaxed(&s->ephemeral_bytes, v->ephemeral_bytes);
    atom_store_relaxed(&s->measured, c->boundary.iteration_gate.passed >= ITERATION_GATE_MEASURED);
}

static void write_slo(struct client *c, const struct sched_job_view *v) {
    struct wire_slo *s = &c->com.page->slo;
    atom_store_relaxed(&s->slo_ns, v->slo_ns);
    atom_store_relaxed(&s->slo_of, v->slo_of);
    atom_store_relaxed(&s->measured_ns, v->measured_ns);
    atom_store_relaxed(&s->periods, v->periods);
    atom_store_relaxed(&s->violations, v->violations);
    atom_store_relaxed(&s->stuck, v->stuck);
    atom_store_relaxed(&s->pause_ns, v->pause_ns);
    atom_store_relaxed(&s->sms, v->sms);
}

/* Writes each job's state. Returns the persistent bytes granted to jobs that are not swapped out.
 * Adds the jobs that wait for admission to *waiting. */
static uint64_t write_jobs(struct worker *w, uint32_t *waiting) {
    struct sched_job_view view;
    struct list *pos;
    uint64_t granted = 0;
    list_each(pos, &w->clients.list) {
        struct client *c = list_entry(pos, struct client, link);
        if (c->abandoned || !sched_job(w->scheduling.sched, c->job_id, &view)) {
            clear_job(c);
            continue;
        }
        write_job(c, &view);
        write_slo(c, &view);
        if (view.lane == SCHED_NO_LANE)
            ++*waiting;
        else if (!view.swapped)
            granted += view.persistent_bytes;
    }
    return granted;
}

/* ---- the board ------------------------------------------------------------------------------- */

static void write_board(struct worker *w) {
    struct sched_lane_view views[WIRE_LANES];
    struct wire_board *b = w->board.page;
    uint32_t waiting = 0, count = sched_lanes(w->scheduling.sched, views, WIRE_LANES);
    uint64_t granted = write_jobs(w, &waiting), seq = atom_load_relaxed(&b->seq);
    if (count > WIRE_LANES) count = WIRE_LANES;
    atom_exchange(&b->seq, seq + 1); /* later stores are not visible before this */
    b->policy = *sched_policy_config(w->scheduling.sched);
    b->capacity_bytes = w->info.memory_bytes;
    b->kept_bytes = w->shared.segments.alone_bytes;
    b->free_bytes = sched_free_bytes(w->scheduling.sched);
    b->lane_count = count;
    b->waiting_jobs = waiting;
    b->sm_threshold = sched_sm_threshold(w->scheduling.sched);
    b->whole = w->info.whole || !w->ops->shares;
    for (uint32_t i = 0; i < count; i++) {
        const struct sched_lane_view *v = &views[i];
        granted += v->bytes;
        b->lanes[i] = (struct wire_lane){.lane = v->lane,
                                         .jobs = v->jobs,
                                         .holder = v->holder,
                                         .bytes = v->bytes,
                                         .chunk_bytes = lane_table_bytes(&w->lanes, v->lane),
                                         .switches = v->switches,
                                         .cleared_bytes = lane_table_cleared(&w->lanes, v->lane),
                                         .busy_ns = v->busy_ns};
    }
    b->granted_bytes = granted;
    atom_store_release(&b->seq, seq + 2);
}

void scheduler_view_update(struct worker *w, bool now) {
    struct board *b = &w->board;
    if (!b->page || (b->ns && w->scheduling.steps == b->steps && !b->stale)) return;
    if (!now && w->now_ns - b->ns < EVERY_NS) return;
    b->steps = w->scheduling.steps;
    b->stale = false;
    b->ns = w->now_ns ? w->now_ns : 1;
    write_board(w);
}
