/* SPDX-License-Identifier: Apache-2.0
 *
 * A job without work is idle after a lease, and abandoned after idle_after. An abandoned job may be
 * swapped out for a job of another user, even without swap.
 */
#include "daemon/sched/admission/victim.h"

bool victim_is_still(const struct sched *s, uint32_t job) {
    const struct sched_job *j = &s->st.jobs[job];
    return !j->left && !j->swapped && !j->spilled && s->st.lane[j->lane].inside != job;
}

uint64_t victim_idle_since(const struct sched *s, uint32_t job) {
    const struct sched_job *j = &s->st.jobs[job];
    if (j->left || j->swapped || j->running || j->waiting) return SCHED_NEVER;
    return j->done_ns > j->held_ns ? j->done_ns : j->held_ns;
}

/* Time from which the job counts as idle: one lease after its last work. */
static uint64_t idle_at(const struct sched *s, uint32_t job) {
    uint64_t since = victim_idle_since(s, job);
    return since == SCHED_NEVER ? since : since + s->config.lease_ns;
}

bool victim_swaps(const struct sched *s) {
    return s->config.swap && s->lane_policy->swap_margin;
}

/* The job k may be swapped out for a job of another user, even without swap. */
static bool is_abandoned(const struct sched *s, uint32_t job, uint32_t k) {
    uint64_t since = victim_idle_since(s, k);
    if (s->st.jobs[k].spec.user == s->st.jobs[job].spec.user || since == SCHED_NEVER) return false;
    return s->st.now_ns - since >= s->config.idle_after_ns && since <= s->st.now_ns;
}

static bool is_idle(const struct sched *s, uint32_t job) {
    return idle_at(s, job) <= s->st.now_ns;
}

/* Memory that is freed at least when the job is swapped out. */
static uint64_t gain_bytes(const struct sched *s, uint32_t job) {
    const struct lanes *l = s->st.lanes;
    uint32_t lane = s->st.jobs[job].lane;
    return lanes_persistent(l, job) + (lanes_members(l, lane) == 1 ? lanes_size(l, lane) : 0);
}

static bool is_behind(const struct sched *s, uint32_t job, uint32_t k) {
    const struct order_node *head = &s->st.jobs[job].node;
    const struct sched_job *j = &s->st.jobs[k];
    uint64_t rank = s->lane_policy->rank(&s->st, k);
    if (j->spec.unknown || j->spec.fixed || !gain_bytes(s, k)) return false;
    if (!victim_swaps(s)) return is_abandoned(s, job, k) && j->spec.priority <= head->priority;
    if (is_idle(s, k)) return j->spec.priority <= head->priority;
    if (!victim_is_still(s, k) || !lanes_persistent(s->st.lanes, k)) return false;
    if (j->spec.priority != head->priority) return j->spec.priority < head->priority;
    return rank > head->rank && rank - head->rank > s->lane_policy->swap_margin(&s->st);
}

/* The job a is swapped out before b: the one idle longest, or else the one that ranks last. */
static bool goes_before(const struct sched *s, uint32_t a, uint32_t b) {
    const struct lane_policy *p = s->lane_policy;
    if (!victim_swaps(s) || is_idle(s, a) || is_idle(s, b)) return idle_at(s, a) < idle_at(s, b);
    return p->rank(&s->st, a) > p->rank(&s->st, b);
}

uint32_t victim_find(const struct sched *s, uint32_t job, uint64_t *room_bytes) {
    const struct sched_state *st = &s->st;
    uint32_t victim = SCHED_NONE;
    *room_bytes = lanes_capacity(st->lanes) - lanes_used(st->lanes);
    for (uint32_t k = st->admitted; k != SCHED_NONE; k = st->jobs[k].admitted_next) {
        if (!is_behind(s, job, k)) continue;
        *room_bytes += gain_bytes(s, k);
        if (victim == SCHED_NONE || goes_before(s, k, victim)) victim = k;
    }
    return victim;
}

uint32_t victim_find_idle(const struct sched *s, uint32_t job, uint64_t *sum) {
    const struct sched_state *st = &s->st;
    uint32_t victim = SCHED_NONE;
    for (uint32_t k = st->admitted; k != SCHED_NONE; k = st->jobs[k].admitted_next) {
        const struct sched_job *j = &st->jobs[k];
        if (k == job || j->spec.unknown || j->spec.fixed) continue;
        if (victim_swaps(s) ? !is_idle(s, k) : !is_abandoned(s, job, k)) continue;
        if (j->spec.priority > st->jobs[job].spec.priority || !gain_bytes(s, k)) continue;
        *sum += gain_bytes(s, k);
        if (victim == SCHED_NONE || idle_at(s, k) < idle_at(s, victim)) victim = k;
    }
    return victim;
}

bool victim_may_swap(const struct sched *s) {
    return victim_swaps(s) || s->several_users;
}
