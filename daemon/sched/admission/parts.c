/* SPDX-License-Identifier: Apache-2.0
 *
 * One pass over all jobs. Users are found by comparison, because there are few.
 */
#include "daemon/sched/admission/parts.h"

#include "daemon/sched/admission/grow.h"

static bool counts(const struct sched_job *j) {
    return j->used && !j->left && !j->refused;
}

static bool is_waiting(const struct sched_job *j) {
    return counts(j) && !j->admitted && !j->spec.paused;
}

void parts_joined(struct sched *s, uint32_t job) {
    const struct sched_state *st = &s->st;
    for (uint32_t k = 0; k < st->jobs_cap && !s->several_users; k++)
        s->several_users = counts(&st->jobs[k]) && st->jobs[k].spec.user != st->jobs[job].spec.user;
}

/* Memory of the job, with its share of the lane: the lane's size divided by the number of members.
 */
static uint64_t held_bytes(const struct sched_state *st, uint32_t job) {
    const struct sched_job *j = &st->jobs[job];
    if (!j->admitted || j->swapped) return 0;
    return lanes_persistent(st->lanes, job) +
           lanes_size(st->lanes, j->lane) / lanes_members(st->lanes, j->lane);
}

static uint64_t needed_bytes(const struct sched *s, uint32_t job) {
    const struct sched_spec *spec = &s->st.jobs[job].spec;
    if (spec->unknown) return grow_part(s);
    return lanes_round(s->st.lanes, spec->persistent_bytes) +
           lanes_round(s->st.lanes, spec->ephemeral_bytes);
}

static uint32_t leader_of(const struct sched_state *st, uint32_t job) {
    uint32_t k = 0;
    while (!counts(&st->jobs[k]) || st->jobs[k].spec.user != st->jobs[job].spec.user)
        k++;
    return k;
}

static bool is_beyond(const struct sched *s, const struct parts *parts, uint32_t job) {
    uint64_t held = s->st.jobs[s->st.jobs[job].leader].user_bytes;
    return held + needed_bytes(s, job) > parts->part_bytes;
}

/* Counts the users, and sums up the memory of each. */
static uint32_t count_users(struct sched_state *st) {
    uint32_t users = 0;
    for (uint32_t job = 0; job < st->jobs_cap; job++) {
        struct sched_job *j = &st->jobs[job];
        if (!counts(j)) continue;
        j->leader = leader_of(st, job);
        if (j->leader == job) {
            users++;
            j->user_bytes = 0;
        }
        st->jobs[j->leader].user_bytes += held_bytes(st, job);
    }
    return users;
}

struct parts parts_of(struct sched *s) {
    struct sched_state *st = &s->st;
    struct parts parts = {.waits = SCHED_NONE};
    if (!s->several_users || s->lane_policy->sticky) return parts;
    uint32_t users = count_users(st);
    if (users < 2) return parts;
    parts.part_bytes = lanes_capacity(st->lanes) / users;
    for (uint32_t job = 0; job < st->jobs_cap; job++) {
        const struct sched_job *j = &st->jobs[job];
        if (!is_waiting(j) || is_beyond(s, &parts, job)) continue;
        if (parts.waits == SCHED_NONE) parts.waits = job;
        parts.several_users_wait |= j->leader != st->jobs[parts.waits].leader;
    }
    return parts;
}

bool parts_yields(const struct sched *s, const struct parts *parts, uint32_t job) {
    const struct sched_job *j = &s->st.jobs[job];
    if (!parts->part_bytes || parts->waits == SCHED_NONE) return false;
    if (j->overtaken >= s->config.overtakes || j->admitted) return false;
    bool another = parts->several_users_wait || j->leader != s->st.jobs[parts->waits].leader;
    return another && is_beyond(s, parts, job);
}
