/* SPDX-License-Identifier: Apache-2.0
 *
 * Growth beyond a reservation. Free memory is granted at once. Otherwise the job may become the
 * grower, which waits. The grower is denied
 *   - at once if the memory that others hold cannot suffice, if an earlier job is the grower
 *     already, or if the job waited in vain and no memory was freed since;
 *   - later if an earlier job needs to wait, if too few jobs remain that could free memory, or when
 *     grow_wait is over.
 * All other jobs are answered at once, so that none of them waits for the grower's memory.
 */
#include "daemon/sched/admission/grow.h"

void grow_resized(struct sched *s, uint32_t lane, uint64_t before) {
    uint64_t bytes = lanes_open(s->st.lanes, lane) ? lanes_size(s->st.lanes, lane) : 0;
    if (bytes == before) return;
    struct sched_action *a = sched_emit(s, SCHED_LANE, SCHED_NONE);
    a->lane = lane;
    a->bytes = bytes;
}

bool grow_related(const struct sched_job *a, const struct sched_job *b) {
    if (a->spec.user != b->spec.user) return false;
    return (a->spec.run && a->spec.run == b->spec.run) ||
           (a->spec.group && a->spec.group == b->spec.group);
}

static uint64_t free_bytes(const struct sched *s) {
    return lanes_capacity(s->st.lanes) - lanes_used(s->st.lanes);
}

static uint64_t growth(const struct sched *s, uint32_t job, const struct sched_need *need) {
    return lanes_growth(s->st.lanes, job, need->persistent_bytes, need->ephemeral_bytes);
}

/* ---- reserved memory ------------------------------------------------------------------------ */

uint64_t grow_part(const struct sched *s) {
    uint64_t all = lanes_capacity(s->st.lanes);
    return all / 1000 * s->config.unknown_part + all % 1000 * s->config.unknown_part / 1000;
}

uint64_t grow_missing(const struct sched *s) {
    const struct sched_state *st = &s->st;
    if (st->grower == SCHED_NONE) return 0;
    uint64_t bytes = growth(s, st->grower, &st->jobs[st->grower].ask), room = free_bytes(s);
    return bytes > room ? bytes - room : 0;
}

/* Memory reserved for an admitted job of unknown needs beyond what it holds. */
static uint64_t kept_bytes(const struct sched *s, uint32_t job) {
    const struct sched_state *st = &s->st;
    const struct sched_job *j = &st->jobs[job];
    uint64_t part = grow_part(s);
    uint64_t holds = lanes_persistent(st->lanes, job) + lanes_ephemeral(st->lanes, job);
    if (!j->spec.unknown || j->left || holds >= part) return 0;
    return st->now_ns - j->admitted_ns < s->config.lease_ns ? part - holds : 0;
}

uint64_t grow_aside_until(const struct sched *s) {
    const struct sched_state *st = &s->st;
    uint64_t until = SCHED_NEVER;
    if (!st->unknown_count) return until;
    for (uint32_t k = st->admitted; k != SCHED_NONE; k = st->jobs[k].admitted_next) {
        uint64_t end = st->jobs[k].admitted_ns + s->config.lease_ns;
        if (end < until && kept_bytes(s, k)) until = end;
    }
    return until;
}

uint64_t grow_aside(const struct sched *s, uint32_t job) {
    const struct sched_state *st = &s->st;
    uint64_t sum = 0;
    if (st->grower != SCHED_NONE && !grow_related(&st->jobs[st->grower], &st->jobs[job]))
        sum = growth(s, st->grower, &st->jobs[st->grower].ask);
    if (!st->unknown_count) return sum;
    for (uint32_t k = st->admitted; k != SCHED_NONE; k = st->jobs[k].admitted_next)
        if (!grow_related(&st->jobs[k], &st->jobs[job])) sum += kept_bytes(s, k);
    return sum;
}

/* ---- waiting --------------------------------------------------------------------------------- */

/* The job k will free memory independently of `job`: when it ends by itself or by its operator. */
static bool is_giver(const struct sched_state *st, uint32_t job, uint32_t k) {
    const struct sched_job *j = &st->jobs[k];
    return k != job && !j->spec.paused && !grow_related(j, &st->jobs[job]);
}

/* Memory of all jobs that may free some. A job counts with its share of the lane, divided by the
 * number of members. */
static uint64_t givers_bytes(const struct sched *s, uint32_t job) {
    const struct sched_state *st = &s->st;
    uint64_t sum = 0;
    for (uint32_t k = st->admitted; k != SCHED_NONE; k = st->jobs[k].admitted_next) {
        const struct sched_job *j = &st->jobs[k];
        if (!is_giver(st, job, k)) continue;
        if (!j->swapped) sum += lanes_persistent(st->lanes, k);
        if (j->lane != st->jobs[job].lane)
            sum += lanes_size(st->lanes, j->lane) / lanes_members(st->lanes, j->lane);
    }
    return sum;
}

/* The job may wait for this growth. Under a sticky policy it could not: the holder of the turn
 * would wait for jobs that wait for the end of its turn. */
static bool has_hope(const struct sched *s, uint32_t job, const struct sched_need *need) {
    uint64_t bytes = growth(s, job, need), room = free_bytes(s);
    if (s->lane_policy->sticky || s->st.jobs[job].swapped || bytes == UINT64_MAX) return false;
    return bytes <= room || bytes - room <= givers_bytes(s, job);
}

static void stop_waiting(struct sched *s, enum sched_action_kind answer) {
    uint32_t job = s->st.grower;
    s->st.grower = SCHED_NONE;
    s->grow_at = SCHED_NEVER;
    s->st.jobs[job].wait_tried = s->releases;
    sched_emit(s, answer, job);
}

static bool may_wait(const struct sched *s, uint32_t job, const struct sched_need *need) {
    const struct sched_state *st = &s->st;
    const struct sched_job *j = &st->jobs[job];
    if (!j->admitted || j->wait_tried == s->releases) return false;
    if (st->grower != SCHED_NONE && st->jobs[st->grower].begun <= j->begun) return false;
    return has_hope(s, job, need);
}

static void begin_waiting(struct sched *s, uint32_t job, const struct sched_need *need) {
    if (s->st.grower != SCHED_NONE) stop_waiting(s, SCHED_DENY);
    s->st.grower = job;
    s->st.jobs[job].ask = *need;
    s->grow_at = s->st.now_ns + s->config.grow_wait_ns;
    s->look = true;
    sched_emit(s, SCHED_WAIT, job);
}

/* ---- answers --------------------------------------------------------------------------------- */

static bool take(struct sched *s, uint32_t job, const struct sched_need *need) {
    struct sched_job *j = &s->st.jobs[job];
    if (!j->admitted || growth(s, job, need) == UINT64_MAX) return false;
    uint64_t before = lanes_size(s->st.lanes, j->lane);
    if (!lanes_set(s->st.lanes, job, need->persistent_bytes, need->ephemeral_bytes)) return false;
    grow_resized(s, j->lane, before);
    j->spec.persistent_bytes = need->persistent_bytes;
    j->spec.ephemeral_bytes = need->ephemeral_bytes;
    return true;
}

void grow_asked(struct sched *s, uint32_t job, const struct sched_need *need, bool patient) {
    if (take(s, job, need))
        sched_emit(s, SCHED_GRANT, job);
    else if (patient && may_wait(s, job, need))
        begin_waiting(s, job, need);
    else
        sched_emit(s, SCHED_DENY, job);
}

bool grow_look(struct sched *s) {
    struct sched_state *st = &s->st;
    if (st->grower == SCHED_NONE) return false;
    struct sched_job *j = &st->jobs[st->grower];
    /* The job's reservation may have grown meanwhile by requests that needed no wait. */
    if (j->ask.persistent_bytes < j->spec.persistent_bytes)
        j->ask.persistent_bytes = j->spec.persistent_bytes;
    if (j->ask.ephemeral_bytes < j->spec.ephemeral_bytes)
        j->ask.ephemeral_bytes = j->spec.ephemeral_bytes;
    if (take(s, st->grower, &j->ask)) {
        stop_waiting(s, SCHED_GRANT);
        return true;
    }
    if (st->now_ns >= s->grow_at || !has_hope(s, st->grower, &j->ask)) stop_waiting(s, SCHED_DENY);
    return false;
}

void grow_forget(struct sched *s, uint32_t job) {
    if (s->st.grower != job) return;
    s->st.grower = SCHED_NONE;
    s->grow_at = SCHED_NEVER;
}
