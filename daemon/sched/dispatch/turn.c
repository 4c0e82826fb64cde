/* SPDX-License-Identifier: Apache-2.0
 *
 * Turns: "iteration execution is serialized within a lane and parallelism is achieved across lanes"
 * (Salus, section 3.3). A domain is the scope of a turn: a lane, or the whole device under an
 * exclusive policy. A turn ends at the job's boundary. If another job waits for it, a turn also
 * ends
 *
 *   when its job has been idle for `idle_turn`: a server that waits for its next request, or a host
 *   that computes, needs no turn. Ephemeral memory still in use would have to be copied to host
 *   memory and back, so the job keeps the turn longer by the time of that copy. Without such memory
 *   the turn may end sooner, and ends at once if the job's boundaries are unknown;
 *
 *   when its lease is over, as soon as no operation of it runs: the job reaches no boundary.
 */
#include "daemon/sched/dispatch/turn.h"

#include <errno.h>
#include <stdlib.h>

#include "daemon/sched/core.h"
#include "daemon/sched/dispatch/job_heap.h"
#include "daemon/sched/dispatch/pause.h"
#include "daemon/sched/dispatch/ready.h"
#include "daemon/sched/dispatch/share.h"

static int grow(void **array, size_t item, uint32_t count) {
    void *grown = realloc(*array, item * count);
    if (!grown) return -ENOMEM;
    *array = grown;
    return 0;
}

int turn_reserve(struct sched_state *st, uint32_t have, uint32_t count) {
    if (grow((void **)&st->domains, sizeof(*st->domains), count) ||
        grow((void **)&st->ends.items, sizeof(*st->ends.items), count) ||
        grow((void **)&st->ends.place, sizeof(*st->ends.place), count))
        return -ENOMEM;
    for (uint32_t i = have; i < count; i++) {
        st->domains[i] = (struct sched_domain){.holder = SCHED_NONE, .ready = SCHED_NONE};
        st->ends.items[i] = st->ends.place[i] = MINHEAP_NONE;
    }
    return 0;
}

static void mark_dirty(struct sched *s, struct sched_domain *d) {
    if (d->dirty) return;
    uint32_t at = (uint32_t)(d - s->st.domains);
    d->dirty = true;
    d->next_dirty = SCHED_NONE;
    if (s->dirty == SCHED_NONE)
        s->dirty = at;
    else
        s->st.domains[s->last_dirty].next_dirty = at;
    s->last_dirty = at;
}

/* End of the holder's lease when another job waits. The lease has a minimum: after iterations of
 * microseconds it would be shorter than ITERATION_GATE_MOMENT_NS, in which the caller waits for the
 * next iteration's first operation, and a job at its boundary would be spilled. */
static uint64_t lease_end(const struct sched *s, const struct sched_job *j) {
    uint64_t least = SCHED_LEASE_LEAST_NS, lease = j->lap_ns * s->config.lease_factor;
    if (!j->lap_ns || least > s->config.lease_ns) least = s->config.lease_ns;
    return j->turn_ns + (lease > least ? lease : least);
}

/* Bytes that are copied out of a lane and back in a nanosecond: 16 GB/s each way. PCIe 4.0 x16
 * achieves about 25. */
#define TURN_COPY_BYTES_NS 8

static uint64_t idle_since(const struct sched_job *j) {
    return j->done_ns > j->turn_ns ? j->done_ns : j->turn_ns;
}

/* The first waiting job would have been given the turn before its holder. */
static bool is_outranked(const struct sched *s, const struct sched_domain *d) {
    const struct sched_job *j = &s->st.jobs[d->holder], *next = &s->st.jobs[d->ready];
    if (next->node.priority != j->spec.priority) return next->node.priority > j->spec.priority;
    return next->node.rank < s->lane_policy->rank(&s->st, d->holder);
}

#define TURN_HOST_NS \
    50000u /* upper bound of the time in which a host marks a boundary or submits an operation */
#define TURN_NEXT_NS 1000u /* upper bound of the time in which an operation in flight arrives */

/* The job has worked long enough for a boundary, but reached none. */
static bool is_without_boundaries(const struct sched_job *j) {
    return !j->iterations && j->busy_ns >= SCHED_LEASE_LEAST_NS;
}

/* Time for which the domain's holder may be idle before others get its turn. Under a policy that
 * balances lanes, a holder for which the device does not wait gives the turn up soon. While no job
 * of a lane can run, jobs of other lanes get ahead of those that wait in it. */
static uint64_t patience(const struct sched *s, const struct sched_domain *d) {
    const struct sched_job *j = &s->st.jobs[d->holder];
    uint64_t most = s->config.idle_turn_ns, host = most < TURN_HOST_NS ? most : TURN_HOST_NS;
    bool first = !is_outranked(s, d), levels = s->lane_policy->levels;
    if (j->lane_bytes) return most + j->lane_bytes / TURN_COPY_BYTES_NS;
    if (is_without_boundaries(j) && (!first || !levels)) return TURN_NEXT_NS;
    if (!first) return host;
    if (!levels) return most;
    uint64_t since = idle_since(j), end = pause_end(&s->st, d->holder);
    return end < since + host ? host : end < since + most ? end - since : most;
}

/* End of the holder's turn, for which others wait, if nothing changes. */
static uint64_t end_of(const struct sched *s, const struct sched_domain *d) {
    const struct sched_job *j = &s->st.jobs[d->holder];
    uint64_t lease = lease_end(s, j);
    if (!state_is_idle(j)) return lease;
    uint64_t idle = idle_since(j) + patience(s, d);
    return idle < lease ? idle : lease;
}

/* A job has the turn, and another one waits for it. */
static bool is_contended(const struct sched *s, const struct sched_domain *d) {
    return !s->lane_policy->sticky && d->holder != SCHED_NONE && d->ready != SCHED_NONE &&
           !s->st.jobs[d->holder].revoked;
}

static bool ends_before(const void *domains, uint32_t a, uint32_t b) {
    const struct sched_domain *d = domains;
    return d[a].end_ns < d[b].end_ns;
}

/* Schedules a look at the domain. The time only becomes earlier here; a look that comes too early
 * sets a later one. */
static void watch_at(struct sched_state *st, struct sched_domain *d, uint64_t end_ns) {
    struct minheap *ends = &st->ends;
    uint32_t domain = (uint32_t)(d - st->domains), at = ends->place[domain];
    if (at != MINHEAP_NONE && d->end_ns <= end_ns) return;
    d->end_ns = end_ns;
    if (at == MINHEAP_NONE) at = minheap_append(ends, domain);
    minheap_settle(ends, at, ends_before, st->domains);
}

static void watch_turn(struct sched *s, struct sched_domain *d) {
    if (!is_contended(s, d)) return;
    watch_at(&s->st, d, end_of(s, d));
    if (state_is_idle(&s->st.jobs[d->holder])) share_wait(s, d->ready);
}

static bool is_eligible(const struct sched_job *j) {
    return j->admitted && !j->left && !j->turn && !j->swapped && !j->spec.paused && !j->paced_ns &&
           state_wants(j);
}

static void take_out(struct sched *s, uint32_t job) {
    struct sched_job *j = &s->st.jobs[job];
    if (!j->admitted || j->swapped) return;
    struct sched_domain *d = state_domain(&s->st, j->lane);
    if (j->node.in) job_heap_take(s->st.jobs, &d->ready, job);
    /* The first waiting job may have been blocked, or the turn kept for this job. */
    if (d->holder == SCHED_NONE && d->ready != SCHED_NONE) mark_dirty(s, d);
}

/* Limits how far a job that was away is behind: by its arrears at most. */
static void raise_number(struct sched *s, uint32_t job) {
    struct sched_job *j = &s->st.jobs[job];
    uint64_t floor = share_floor(s, j->lane), arrears = s->lane_policy->arrears(&s->st);
    uint64_t least = floor > arrears ? floor - arrears : 0;
    if (j->number < least) j->number = least;
}

void turn_update(struct sched *s, uint32_t job) {
    struct sched_state *st = &s->st;
    struct sched_job *j = &st->jobs[job];
    if (!is_eligible(j)) {
        take_out(s, job);
        return;
    }
    if (j->node.in) return;
    struct sched_domain *d = state_domain(st, j->lane);
    if (s->lane_policy->arrears) raise_number(s, job);
    j->node.rank = s->lane_policy->rank(st, job);
    j->node.priority = j->spec.priority;
    if (d->ready == SCHED_NONE) d->crowded_ns = st->now_ns;
    job_heap_put(st->jobs, &d->ready, job);
    if (d->holder == SCHED_NONE)
        mark_dirty(s, d);
    else
        watch_turn(s, d);
}

void turn_requeue(struct sched *s, uint32_t job) {
    take_out(s, job);
    turn_update(s, job);
}

/* ---- the end of a turn ----------------------------------------------------------------------- */

static void end_turn(struct sched *s, uint32_t job) {
    struct sched_job *j = &s->st.jobs[job];
    struct sched_domain *d = state_domain(&s->st, j->lane);
    j->turn = j->revoked = false;
    if (s->st.turns-- > 1) s->st.crowded_ns = s->st.now_ns;
    if (d->holder == job) d->holder = SCHED_NONE;
    if (d->holder == SCHED_NONE) mark_dirty(s, d);
    ready_changed(s, job);
}

/* Charges the job for holding the turn without using it, from the time at which another job waited.
 */
static void charge_idle(struct sched *s, uint32_t job) {
    struct sched_job *j = &s->st.jobs[job];
    const struct sched_domain *d = state_domain(&s->st, j->lane);
    if (d->holder != job || d->ready == SCHED_NONE) return;
    uint64_t since = idle_since(j) > d->crowded_ns ? idle_since(j) : d->crowded_ns;
    share_charge(s, job, (int64_t)(s->st.now_ns - since));
}

void turn_resumed(struct sched *s, uint32_t job) {
    if (s->st.jobs[job].turn) charge_idle(s, job);
}

void turn_drained(struct sched *s, uint32_t job) {
    struct sched_domain *d = state_domain(&s->st, s->st.jobs[job].lane);
    if (d->holder == job && d->ready != SCHED_NONE) mark_dirty(s, d);
}

void turn_boundary(struct sched *s, uint32_t job) {
    struct sched_job *j = &s->st.jobs[job];
    struct sched_lane *lane = &s->st.lane[j->lane];
    if (j->turn && state_is_idle(j)) charge_idle(s, job);
    if (lane->inside == job) lane->inside = SCHED_NONE;
    if (j->turn && !s->lane_policy->sticky) {
        end_turn(s, job);
    } else if (j->turn) { /* keeps the turn for the operations of the next iteration */
        lane->inside = job;
        j->turn_ns = s->st.now_ns;
        ready_changed(s, job);
    }
}

void turn_revoke(struct sched *s, uint32_t job) {
    struct sched_job *j = &s->st.jobs[job];
    if (!j->turn || j->revoked) return;
    j->revoked = true;
    ready_changed(s, job);
    turn_idle(s, job);
}

void turn_idle(struct sched *s, uint32_t job) {
    struct sched_job *j = &s->st.jobs[job];
    if (!j->revoked || j->running) return;
    end_turn(s, job);
    turn_update(s, job);
}

void turn_forget(struct sched *s, uint32_t job) {
    struct sched_state *st = &s->st;
    struct sched_job *j = &st->jobs[job];
    take_out(s, job);
    if (j->turn) end_turn(s, job);
    share_forget(s, job);
    struct sched_lane *lane = &st->lane[j->lane];
    if (lane->inside == job) lane->inside = SCHED_NONE;
    if (lane->last == job) lane->last = SCHED_NONE;
}

void turn_detach(struct sched *s, uint32_t job) {
    turn_forget(s, job);
}

void turn_attach(struct sched *s, uint32_t job) {
    struct sched_job *j = &s->st.jobs[job];
    share_floor(s, j->lane);
    j->number = s->lane_policy->begin(&s->st, job);
    turn_update(s, job);
}

/* ---- the beginning of a turn ---------------------------------------------------------------- */

/* Spills the pages of a job that lost this lane's turn within an iteration, before another job's
 * operations use them. Restores those of the new holder. */
static void clear_lane(struct sched *s, struct sched_lane *lane, uint32_t job) {
    uint32_t inside = lane->inside;
    if (inside != SCHED_NONE && inside != job) {
        s->st.jobs[inside].spilled = true;
        sched_emit(s, SCHED_SPILL, inside);
    }
    lane->inside = job;
    if (!s->st.jobs[job].spilled) return;
    s->st.jobs[job].spilled = false;
    sched_emit(s, SCHED_RESTORE, job);
}

/* The job's lane is still used by a turn that was revoked when the policy changed. Such a turn may
 * continue beside the new holder's, but never in the same lane. */
static bool is_blocked(const struct sched *s, uint32_t job) {
    uint32_t inside = s->st.lane[s->st.jobs[job].lane].inside;
    return inside != SCHED_NONE && inside != job && s->st.jobs[inside].turn;
}

static void give_turn(struct sched *s, struct sched_domain *d) {
    struct sched_state *st = &s->st;
    uint32_t job = d->ready;
    struct sched_job *j = &st->jobs[job];
    struct sched_lane *lane = &st->lane[j->lane];
    job_heap_take(st->jobs, &d->ready, job);
    clear_lane(s, lane, job);
    if (lane->last != job) {
        lane->last = job;
        lane->switches++;
        sched_emit(s, SCHED_SWITCH, job);
    }
    d->holder = job;
    if (j->node.rank > d->floor) d->floor = j->node.rank;
    j->turn = true;
    st->turns++;
    j->turn_ns = st->now_ns;
    watch_turn(s, d);
    ready_changed(s, job);
}

/* Ends the turn of a job whose time is over. An idle job without ephemeral memory in use leaves the
 * lane as at a boundary: nothing has to be copied. */
static void take_turn(struct sched *s, uint32_t job) {
    struct sched_job *j = &s->st.jobs[job];
    struct sched_lane *lane = &s->st.lane[j->lane];
    if (state_is_idle(j)) {
        charge_idle(s, job);
        if (!j->lane_bytes && lane->inside == job) lane->inside = SCHED_NONE;
    }
    turn_revoke(s, job);
}

static void end_turns(struct sched *s) {
    struct sched_state *st = &s->st;
    while (turn_end_at(st) <= st->now_ns) {
        struct sched_domain *d = &st->domains[minheap_take(&st->ends, ends_before, st->domains)];
        if (d->holder == SCHED_NONE)
            mark_dirty(s, d); /* the device no longer waits for the previous holder */
        if (!is_contended(s, d)) continue;
        if (end_of(s, d) <= st->now_ns)
            take_turn(s, d->holder);
        else
            watch_turn(s, d);
    }
}

uint64_t turn_kept_until(const struct sched *s, const struct sched_domain *d) {
    const struct sched_state *st = &s->st;
    uint32_t last = st->lane[st->jobs[d->ready].lane].last;
    if (!s->lane_policy->levels || st->exclusive || last == SCHED_NONE) return 0;
    const struct sched_job *j = &st->jobs[last], *next = &st->jobs[d->ready];
    bool first = j->spec.priority >= next->node.priority && j->number < next->node.rank;
    return first && last != d->ready ? pause_end(st, last) : 0;
}

static void offer_turn(struct sched *s, struct sched_domain *d) {
    if (d->ready == SCHED_NONE || is_blocked(s, d->ready)) return;
    uint64_t kept_ns = turn_kept_until(s, d);
    if (kept_ns > s->st.now_ns)
        watch_at(&s->st, d, kept_ns);
    else
        give_turn(s, d);
}

static void look_at_domains(struct sched *s) {
    while (s->dirty != SCHED_NONE) {
        struct sched_domain *d = &s->st.domains[s->dirty];
        s->dirty = d->next_dirty;
        d->dirty = false;
        if (d->holder != SCHED_NONE)
            watch_turn(s, d);
        else
            offer_turn(s, d);
    }
}

void turn_look(struct sched *s) {
    do {
        end_turns(s);
        look_at_domains(s);
    } while (turn_end_at(&s->st) <= s->st.now_ns);
}

void turn_rebuild(struct sched *s, const struct lane_policy *policy, bool exclusive) {
    struct sched_state *st = &s->st;
    for (uint32_t job = st->admitted; job != SCHED_NONE; job = st->jobs[job].admitted_next)
        take_out(s, job);
    for (uint32_t i = 0; i <= st->jobs_cap; i++) {
        st->domains[i].floor = 0;
        st->domains[i].holder = SCHED_NONE;
    }
    s->lane_policy = policy;
    st->exclusive = exclusive;
    for (uint32_t job = st->admitted; job != SCHED_NONE; job = st->jobs[job].admitted_next) {
        struct sched_job *j = &st->jobs[job];
        struct sched_domain *d = state_domain(st, j->lane);
        j->number = policy->begin(st, job);
        share_begin(s, job);
        if (j->turn && !j->left && d->holder == SCHED_NONE)
            d->holder = job;
        else if (j->turn)
            turn_revoke(s, job); /* only one of several turns side by side continues */
    }
    for (uint32_t job = st->admitted; job != SCHED_NONE; job = st->jobs[job].admitted_next)
        turn_update(s, job);
}
