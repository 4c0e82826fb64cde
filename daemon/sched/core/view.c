/* SPDX-License-Identifier: Apache-2.0
 *
 * Queries of the scheduler's state.
 */
#include "daemon/sched/core/view.h"

#include "daemon/sched/core.h"
#include "daemon/sched/dispatch/job_heap.h"
#include "daemon/sched/dispatch/share.h"

const char *sched_fault_text(enum sched_fault fault) {
    static const char *const texts[] = {
#define X(name, text) text,
        SCHED_FAULTS(X)
#undef X
    };
    return (uint32_t)fault < sizeof(texts) / sizeof(texts[0]) ? texts[fault] : "?";
}

const struct sched_state *sched_view(const struct sched *s) {
    return &s->st;
}

const struct policy_config *sched_policy_config(const struct sched *s) {
    return &s->config;
}

bool sched_decides_by_class(const struct sched *s) {
    return s->policy->classes;
}

uint32_t sched_sm_threshold(const struct sched *s) {
    return s->policy->sm_threshold ? s->policy->sm_threshold(&s->st) : 0;
}

static bool is_waiting(const struct sched_job *j) {
    return j->used && !j->left && !j->refused && (!j->admitted || j->swapped);
}

/* Place in the admission queue, from 1. */
static uint32_t queue_position(const struct sched_state *st, const struct sched_job *j) {
    uint32_t position = 1;
    if (!is_waiting(j)) return 0;
    for (uint32_t i = 0; i < st->jobs_cap; i++)
        position += is_waiting(&st->jobs[i]) && job_heap_before(&st->jobs[i].node, &j->node);
    return position;
}

/* The job missed its target in the latest period, and others had nothing left to give up. */
static bool is_stuck(const struct sched_state *st, const struct sched_job *j) {
    return j->service != SCHED_NONE && st->services[j->service].is_stuck;
}

/* The job has received more than its share, so that other competing jobs go first. */
static bool is_held_back(const struct sched *s, uint32_t job) {
    return s->st.share.on && !s->st.jobs[job].running && ranked_has(&s->st.ranked, job) &&
           !share_allows(s, job);
}

/* If only one lane runs at a time, a job of another lane may have the turn. */
static enum sched_why why_no_turn(const struct sched_state *st, const struct sched_job *j) {
    uint32_t holder = state_domain(st, j->lane)->holder;
    bool other = holder != SCHED_NONE && st->jobs[holder].lane != j->lane;
    return other ? SCHED_WHY_LANE : SCHED_WHY_TURN;
}

static enum sched_why why_waiting(const struct sched *s, uint32_t job) {
    const struct sched_state *st = &s->st;
    const struct sched_job *j = &st->jobs[job];
    if (st->grower != SCHED_NONE && j == &st->jobs[st->grower]) return SCHED_WHY_GROWS;
    if (j->refused || (!j->admitted && !j->spec.paused)) return j->why;
    if (j->spec.paused) return SCHED_WHY_PAUSED;
    if (j->swapped) return SCHED_WHY_SWAPPED;
    if (j->paced_ns) return SCHED_WHY_PACED;
    if (!j->turn && state_wants(j)) return why_no_turn(st, j);
    if (is_held_back(s, job)) return SCHED_WHY_SHARE;
    return is_stuck(st, j) ? SCHED_WHY_SLO : SCHED_WHY_NONE;
}

static void show_control(const struct sched_state *st, const struct sched_job *j,
                         struct sched_job_view *out) {
    out->pause_ns = j->pause_ns;
    out->sms = j->sms;
    if (j->service == SCHED_NONE) return;
    const struct service *v = &st->services[j->service];
    out->slo_ns = j->spec.slo_ns;
    out->slo_of = j->spec.slo_of;
    out->measured_ns = v->measured_ns;
    out->periods = v->periods;
    out->violations = v->violations;
    out->stuck = v->stuck;
}

/* The fraction of `ns` in which the device worked for the job, in thousandths; 0 when `ns` is 0. */
static uint32_t busy_milli(const struct sched_job *j, uint64_t ns) {
    if (!ns) return 0;
    double part = (double)j->alone_busy_ns * 1000 / (double)ns;
    return part < 1 ? 1 : part > 1000 ? 1000 : (uint32_t)part;
}

bool sched_job(const struct sched *s, uint32_t job, struct sched_job_view *out) {
    const struct sched_state *st = &s->st;
    uint32_t slot = jobmap_find(&st->map, job);
    if (slot == JOBMAP_NONE) return false;
    const struct sched_job *j = &st->jobs[slot];
    *out = (struct sched_job_view){
        .lane = j->lane,
        .position = queue_position(st, j),
        .why = why_waiting(s, slot),
        .turn = j->turn,
        .swapped = j->swapped,
        .weight = j->spec.weight,
        .priority = j->spec.priority,
        .iterations = j->iterations,
        .iteration_ns = j->iteration_ns,
        .demand_milli = busy_milli(j, j->alone_host_ns + j->alone_ns),
        .iteration_milli = busy_milli(j, j->alone_ns),
        .busy_ns = j->busy_ns,
        .request_ns = state_request_ns(j),
        .inflight_cap = j->cap,
        .waited_ns = (j->admitted ? j->admitted_ns : st->now_ns) - j->joined_ns,
    };
    show_control(st, j, out);
    if (!j->admitted) return true;
    out->persistent_bytes = lanes_round(st->lanes, j->spec.persistent_bytes);
    out->ephemeral_bytes = lanes_ephemeral(st->lanes, slot);
    return true;
}

static uint32_t turn_holder(const struct sched_state *st, uint32_t lane) {
    const struct sched_domain *d = state_domain(st, lane);
    if (d->holder == SCHED_NONE || st->jobs[d->holder].lane != lane) return 0;
    return st->jobs[d->holder].id;
}

uint32_t sched_lanes(const struct sched *s, struct sched_lane_view *out, uint32_t cap) {
    const struct sched_state *st = &s->st;
    uint32_t count = 0;
    for (uint32_t lane = 0; lane < lanes_count(st->lanes); lane++) {
        if (!lanes_open(st->lanes, lane)) continue;
        if (count++ >= cap) continue;
        out[count - 1] = (struct sched_lane_view){
            .lane = lane,
            .bytes = lanes_size(st->lanes, lane),
            .jobs = lanes_members(st->lanes, lane),
            .holder = turn_holder(st, lane),
            .switches = st->lane[lane].switches,
            .busy_ns = st->lane[lane].busy_ns,
        };
    }
    return count;
}
