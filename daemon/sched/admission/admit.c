/* SPDX-License-Identifier: Apache-2.0
 *
 * Admission decides which of the waiting jobs may begin (Salus, Algorithm 1: JOBARRIVE, JOBFINISH,
 * LANEMOVED and PROCESSREQUESTS). The pending jobs are examined whenever memory becomes free, not
 * only when a lane is deleted (as printed, line 10). A job may be admitted before an earlier job
 * that does not fit, but only `overtakes` times: then the earlier job's place is reserved.
 *
 * A job whose needs are unknown begins without a reservation and asks for memory (grow.h). Its
 * reservation is set after its first iterations (SCHED_MEASURED), or to its current usage when it
 * has completed none for a while. It begins beside others only if unknown_part of the device is
 * free. Until it holds that much, the rest of that part stays reserved for it, for one lease. So
 * several jobs can be measured side by side.
 *
 * Jobs of one run may wait for one another. Once one of them is admitted, the others never wait:
 * each is admitted, or refused if it does not fit.
 *
 * With swap, a waiting job that ranks before admitted jobs may take the memory of those at a
 * boundary, which then wait in its place (section 4.2). Any waiting job may also take the memory of
 * jobs that have been idle for a lease; these wait until they have work again. Even without swap, a
 * job of another user may take the memory of jobs that have been idle for idle_after.
 *
 * While jobs of several users wait or are admitted, each user has an equal part of the memory
 * (parts.h). A user's job that exceeds the part waits while another user's job waits within its
 * part.
 */
#include "daemon/sched/admission/admit.h"

#include "daemon/sched/admission/grow.h"
#include "daemon/sched/admission/parts.h"
#include "daemon/sched/admission/victim.h"
#include "daemon/sched/core.h"
#include "daemon/sched/dispatch/job_heap.h"
#include "daemon/sched/dispatch/ready.h"
#include "daemon/sched/dispatch/turn.h"

#define ADMIT_SCAN 64           /* number of waiting jobs that one pass considers */
#define ADMIT_MEASURE_LEASES 10 /* then an unknown job's usage becomes its reservation */

/* ---- the queue ------------------------------------------------------------------------------- */

static void put_waiting(struct sched *s, uint32_t job) {
    struct sched_state *st = &s->st;
    struct sched_job *j = &st->jobs[job];
    j->node.rank = s->lane_policy->admit_rank(st, job);
    j->node.priority = j->spec.priority;
    job_heap_put(st->jobs, &st->pending, job);
    st->pending_count++;
    if (j->deadline_ns < s->admit_at) s->admit_at = j->deadline_ns;
}

static void take_waiting(struct sched *s, uint32_t job) {
    job_heap_take(s->st.jobs, &s->st.pending, job);
    s->st.pending_count--;
}

static bool is_pending(const struct sched_job *j) {
    return j->node.in && (!j->admitted || j->swapped);
}

void admit_moved(struct sched *s, uint32_t job) {
    if (!is_pending(&s->st.jobs[job])) return;
    take_waiting(s, job);
    put_waiting(s, job);
    s->releases++;
    s->look = true;
    s->gather |= s->st.jobs[job].spec.run != 0;
}

void admit_reorder(struct sched *s) {
    struct sched_state *st = &s->st;
    for (uint32_t job = 0; job < st->jobs_cap; job++) {
        struct sched_job *j = &st->jobs[job];
        if (!j->used || !is_pending(j)) continue;
        take_waiting(s, job);
        j->number = s->lane_policy->begin(st, job);
    }
    for (uint32_t job = 0; job < st->jobs_cap; job++) {
        const struct sched_job *j = &st->jobs[job];
        if (j->used && !j->left && !j->refused && (!j->admitted || j->swapped)) put_waiting(s, job);
    }
    s->releases++;
    s->look = true;
}

static void refuse(struct sched *s, uint32_t job, enum sched_why why) {
    struct sched_job *j = &s->st.jobs[job];
    j->refused = true;
    j->why = why;
    sched_emit(s, SCHED_REFUSE, job)->why = why;
}

void admit_joined(struct sched *s, uint32_t job) {
    struct sched_job *j = &s->st.jobs[job];
    const struct lanes *l = s->st.lanes;
    uint64_t p = lanes_round(l, j->spec.persistent_bytes);
    uint64_t e = lanes_round(l, j->spec.ephemeral_bytes), all = lanes_capacity(l);
    j->number = s->lane_policy->begin(&s->st, job);
    j->why = SCHED_WHY_MEMORY;
    parts_joined(s, job);
    j->deadline_ns = SCHED_NEVER;
    if (p > all || e > all - p) {
        refuse(s, job, SCHED_WHY_TOO_LARGE);
        return;
    }
    if (j->spec.admit_timeout_ns) j->deadline_ns = s->st.now_ns + j->spec.admit_timeout_ns;
    put_waiting(s, job);
    s->look = true;
    s->gather |= j->spec.run != 0;
}

/* ---- admitted jobs -------------------------------------------------------------------------- */

static void link_admitted(struct sched_state *st, uint32_t job) {
    struct sched_job *j = &st->jobs[job];
    j->admitted = true;
    j->admitted_prev = SCHED_NONE;
    j->admitted_next = st->admitted;
    if (st->admitted != SCHED_NONE) st->jobs[st->admitted].admitted_prev = job;
    st->admitted = job;
    st->admitted_count++;
}

static void unlink_admitted(struct sched_state *st, uint32_t job) {
    struct sched_job *j = &st->jobs[job];
    if (j->admitted_prev == SCHED_NONE)
        st->admitted = j->admitted_next;
    else
        st->jobs[j->admitted_prev].admitted_next = j->admitted_next;
    if (j->admitted_next != SCHED_NONE) st->jobs[j->admitted_next].admitted_prev = j->admitted_prev;
    st->admitted_count--;
}

/* Shrinks a lane after a job left it or lost its memory, if no job's ephemeral pages are in it. The
 * lane shrinks to its members' needs, which are 0 when all are swapped out. `before`: the lane's
 * size before the job left. */
static void settle_lane(struct sched *s, uint32_t lane, uint64_t before) {
    struct lanes *l = s->st.lanes;
    if (lanes_open(l, lane) && s->st.lane[lane].inside == SCHED_NONE) lanes_settle(l, lane);
    grow_resized(s, lane, before);
}

static void begin_job(struct sched *s, uint32_t job, uint32_t lane, enum lane_how how) {
    struct sched_state *st = &s->st;
    struct sched_job *j = &st->jobs[job];
    if (how == LANE_OPENED) { /* another lane may have had this number */
        st->lane[lane] = (struct sched_lane){.inside = SCHED_NONE, .last = SCHED_NONE};
        st->domains[lane + 1].floor = 0;
    }
    link_admitted(st, job);
    j->begun = s->begun++;
    s->gather |= j->spec.run != 0;
    j->lane = lane;
    j->why = SCHED_WHY_NONE;
    j->admitted_ns = j->held_ns = st->now_ns;
    sched_emit(s, SCHED_ADMIT, job);
    ready_changed(s, job);
    turn_attach(s, job);
}

/* Another job of the same run is admitted, so that this one does not wait for memory. */
static bool has_peer(const struct sched *s, uint32_t job) {
    const struct sched_state *st = &s->st;
    const struct sched_job *j = &st->jobs[job];
    if (!j->spec.run) return false;
    for (uint32_t k = st->admitted; k != SCHED_NONE; k = st->jobs[k].admitted_next)
        if (st->jobs[k].spec.run == j->spec.run && st->jobs[k].spec.user == j->spec.user &&
            !st->jobs[k].left)
            return true;
    return false;
}

static struct lane_need need_of(const struct sched_job *j) {
    struct lane_need need = {.group = j->spec.group ? j->spec.group : j->spec.run,
                             .user = j->spec.user};
    if (j->spec.unknown) return need;
    need.persistent_bytes = j->spec.persistent_bytes;
    need.ephemeral_bytes = j->spec.ephemeral_bytes;
    return need;
}

static bool try_without_need(struct sched *s, uint32_t job) {
    struct sched_state *st = &s->st;
    struct sched_job *j = &st->jobs[job];
    struct lane_need need = need_of(j);
    uint64_t room = lanes_capacity(st->lanes) - lanes_used(st->lanes), aside = grow_aside(s, job);
    uint64_t part = grow_part(s);
    uint32_t lane;
    if (st->admitted_count && !has_peer(s, job) && (room < aside || room - aside < part)) {
        j->why = room < part ? SCHED_WHY_MEMORY : SCHED_WHY_UNKNOWN;
        return false;
    }
    j->why = SCHED_WHY_MEMORY;
    enum lane_how how = lanes_admit(st->lanes, job, &need, false, &lane);
    if (how >= LANE_WAITS) return false;
    j->spec.persistent_bytes = j->spec.ephemeral_bytes = 0;
    st->unknown_count++;
    j->measure_ns = st->now_ns + ADMIT_MEASURE_LEASES * s->config.lease_ns;
    if (j->measure_ns < s->measure_at) s->measure_at = j->measure_ns;
    begin_job(s, job, lane, how);
    return true;
}

static bool try_with_need(struct sched *s, uint32_t job, bool reorganise) {
    struct sched_state *st = &s->st;
    struct sched_job *j = &st->jobs[job];
    struct lane_need need = need_of(j);
    uint32_t lane;
    j->why = SCHED_WHY_MEMORY;
    lanes_set_aside(st->lanes, grow_aside(s, job));
    enum lane_how how = lanes_admit(st->lanes, job, &need, reorganise, &lane);
    lanes_set_aside(st->lanes, 0);
    if (how >= LANE_WAITS) return false;
    if (how != LANE_FITTED) grow_resized(s, lane, 0);
    begin_job(s, job, lane, how);
    return true;
}

static bool bring_back(struct sched *s, uint32_t job) {
    struct sched_job *j = &s->st.jobs[job];
    uint64_t before = lanes_size(s->st.lanes, j->lane);
    if (!lanes_swap_in(s->st.lanes, job)) return false;
    j->swapped = j->wanted = false;
    j->held_ns = s->st.now_ns;
    grow_resized(s, j->lane, before);
    sched_emit(s, SCHED_SWAP_IN, job)->bytes = lanes_persistent(s->st.lanes, job);
    turn_update(s, job);
    return true;
}

/* Another user's jobs are on a one_user device. All admitted jobs have one user there; a
 * swapped-out job still counts. */
static bool is_foreign(const struct sched *s, uint32_t job) {
    const struct sched_state *st = &s->st;
    return s->one_user && st->admitted != SCHED_NONE && !st->jobs[job].admitted &&
           st->jobs[st->admitted].spec.user != st->jobs[job].spec.user;
}

/* Tries to admit a job that was taken out of the queue. `reorganise`: other jobs may be moved. */
static bool try_job(struct sched *s, uint32_t job, bool reorganise) {
    struct sched_job *j = &s->st.jobs[job];
    if (j->spec.paused) {
        j->why = SCHED_WHY_PAUSED;
        return false;
    }
    if (is_foreign(s, job)) {
        j->why = SCHED_WHY_USER;
        return false;
    }
    if (j->swapped) return bring_back(s, job);
    return j->spec.unknown ? try_without_need(s, job) : try_with_need(s, job, reorganise);
}

/* ---- freeing memory ------------------------------------------------------------------------- */

/* Moves the job out of its lane if that is draining (lanes_admit with reorganise) and the job can
 * be moved now. Returns true when it was moved. */
static bool drain_for(struct sched *s, uint32_t job) {
    struct sched_state *st = &s->st;
    uint32_t from = st->jobs[job].lane, to;
    uint64_t before = lanes_size(st->lanes, from);
    if (!victim_is_still(s, job)) return false;
    if (!lanes_drain(st->lanes, job, &to)) return false;
    turn_detach(s, job);
    st->jobs[job].lane = to;
    sched_emit(s, SCHED_MOVE, job);
    settle_lane(s, from, before);
    turn_attach(s, job);
    return true;
}

static bool drain_all(struct sched *s) {
    bool any = false;
    for (uint32_t job = s->st.admitted; job != SCHED_NONE; job = s->st.jobs[job].admitted_next)
        any |= drain_for(s, job);
    return any;
}

static void swap_out(struct sched *s, uint32_t victim) {
    struct sched_state *st = &s->st;
    struct sched_job *v = &st->jobs[victim];
    uint64_t before = lanes_size(st->lanes, v->lane);
    bool inside = st->lane[v->lane].inside == victim;
    turn_forget(s, victim);
    if (inside) sched_emit(s, SCHED_SPILL, victim);
    v->spilled |= inside;
    sched_emit(s, SCHED_SWAP_OUT, victim)->bytes = lanes_persistent(st->lanes, victim);
    lanes_swap_out(st->lanes, victim);
    settle_lane(s, v->lane, before);
    v->swapped = true;
    put_waiting(s, victim);
}

/* Memory that must be free for the job at least: P, and E unless an open lane is large enough. */
static uint64_t least_need(const struct sched *s, const struct sched_job *j) {
    const struct lanes *l = s->st.lanes;
    uint64_t e = lanes_round(l, j->spec.ephemeral_bytes);
    for (uint32_t lane = 0; lane < lanes_count(l); lane++)
        if (lanes_admits(l, lane, j->spec.user) && lanes_size(l, lane) >= e) e = 0;
    return lanes_round(l, j->spec.persistent_bytes) + e;
}

/* Swaps out jobs for this one, which is out of the queue, the longest idle first; they wait in its
 * place. Returns true when anything changed. The job may still not fit (a group, max_lanes): then
 * this is not tried again before a job leaves or changes its needs. */
static bool swap_for(struct sched *s, uint32_t job) {
    struct sched_job *j = &s->st.jobs[job];
    uint64_t room, need = least_need(s, j);
    bool any = false;
    for (;;) {
        uint32_t victim = victim_find(s, job, &room);
        if (victim == SCHED_NONE || room < need) break;
        swap_out(s, victim);
        any = true;
        if (try_job(s, job, false)) return true;
    }
    if (any) j->swap_tried = s->releases;
    job_heap_put(s->st.jobs, &s->st.pending, job);
    s->st.pending_count++;
    return any;
}

/* The job has work, and lacks only its memory. */
static bool is_hungry(const struct sched_job *j) {
    return !j->spec.paused && (!j->swapped || j->waiting || j->wanted);
}

/* ---- PROCESSREQUESTS (Algorithm 1, lines 15-20) ---------------------------------------------- */

/* The job's place is reserved: no later job is admitted before it. Swapped-out jobs may still come
 * back, because they may hold what this job waits for. */
static bool reserves(const struct sched *s, uint32_t job) {
    const struct sched_job *j = &s->st.jobs[job];
    if (!is_hungry(j)) return false;
    return s->lane_policy->sticky || j->overtaken >= s->config.overtakes;
}

/* Tries the first jobs of the queue in order and puts those that stay into `kept`. Returns true
 * when any was admitted. */
static bool try_first(struct sched *s, uint32_t *kept, uint32_t *count) {
    struct sched_state *st = &s->st;
    bool any = false, reserved = false;
    struct parts parts = parts_of(s);
    for (*count = 0; *count < ADMIT_SCAN && st->pending != SCHED_NONE;) {
        uint32_t job = st->pending;
        struct sched_job *j = &st->jobs[job];
        take_waiting(s, job);
        bool yields = parts_yields(s, &parts, job), may = (!reserved && !yields) || j->swapped;
        if (!may) j->why = yields ? SCHED_WHY_PART : SCHED_WHY_ORDER;
        if (may && try_job(s, job, *count == 0 && s->lane_policy->reorganise)) {
            any = true;
            for (uint32_t i = 0; i < *count; i++)
                st->jobs[kept[i]].overtaken++;
            parts = parts_of(s);
            continue;
        }
        kept[(*count)++] = job;
        reserved |= reserves(s, job) && !yields;
    }
    for (uint32_t i = 0; i < *count; i++) {
        job_heap_put(st->jobs, &st->pending, kept[i]);
        st->pending_count++;
    }
    return any;
}

/* Free memory and that of the jobs that may be swapped out suffice for this job. */
static bool can_swap(const struct sched *s, uint32_t job) {
    uint64_t room;
    return victim_find(s, job, &room) != SCHED_NONE && room >= least_need(s, &s->st.jobs[job]);
}

/* The job for which others are swapped out: with swap the first in the queue, else the first that
 * another user's idle jobs can make room for. SCHED_NONE: no such job. */
static uint32_t first_hungry(const struct sched *s, const uint32_t *kept, uint32_t count) {
    for (uint32_t i = 0; victim_may_swap(s) && i < count; i++)
        if (is_hungry(&s->st.jobs[kept[i]]) && !is_foreign(s, kept[i]) &&
            (victim_swaps(s) || can_swap(s, kept[i])))
            return kept[i];
    return SCHED_NONE;
}

/* One pass over the queue. Returns true when a job was admitted or memory was freed, so that
 * another pass may admit more. */
static bool scan_queue(struct sched *s) {
    uint32_t kept[ADMIT_SCAN], count;
    bool any = try_first(s, kept, &count);
    if (count == 0) return any;
    if (drain_all(s)) return true;
    uint32_t job = first_hungry(s, kept, count);
    if (job == SCHED_NONE || s->st.jobs[job].swap_tried == s->releases) return any;
    take_waiting(s, job);
    return swap_for(s, job) || any;
}

static void expire_waits(struct sched *s) {
    struct sched_state *st = &s->st;
    if (st->now_ns < s->admit_at) return;
    s->admit_at = SCHED_NEVER;
    for (uint32_t job = 0; job < st->jobs_cap; job++) {
        struct sched_job *j = &st->jobs[job];
        if (!j->used || j->admitted || j->refused || j->left) continue;
        if (j->deadline_ns > st->now_ns) {
            if (j->deadline_ns < s->admit_at) s->admit_at = j->deadline_ns;
            continue;
        }
        take_waiting(s, job);
        refuse(s, job, SCHED_WHY_TIMEOUT);
    }
}

static void set_reservation(struct sched *s, uint32_t job, uint64_t p, uint64_t e) {
    struct sched_state *st = &s->st;
    struct sched_job *j = &st->jobs[job];
    st->unknown_count -= j->spec.unknown;
    j->spec.unknown = false;
    j->spec.persistent_bytes = p;
    j->spec.ephemeral_bytes = e;
    lanes_set(st->lanes, job, p, e);
    s->releases++;
    s->look = true;
}

static void take_measured(struct sched *s) {
    struct sched_state *st = &s->st;
    if (st->now_ns < s->measure_at) return;
    s->measure_at = SCHED_NEVER;
    for (uint32_t job = st->admitted; job != SCHED_NONE; job = st->jobs[job].admitted_next) {
        const struct sched_job *j = &st->jobs[job];
        if (!j->spec.unknown) continue;
        if (j->measure_ns <= st->now_ns)
            set_reservation(s, job, j->spec.persistent_bytes, j->spec.ephemeral_bytes);
        else if (j->measure_ns < s->measure_at)
            s->measure_at = j->measure_ns;
    }
}

/* Sets the time at which the next admitted job becomes idle. Jobs that are idle already have been
 * examined. */
static void watch_idle(struct sched *s) {
    const struct sched_state *st = &s->st;
    s->idle_at = SCHED_NEVER;
    if (!victim_may_swap(s) || (st->pending == SCHED_NONE && st->grower == SCHED_NONE)) return;
    uint64_t after = victim_swaps(s) ? s->config.lease_ns : s->config.idle_after_ns;
    for (uint32_t job = st->admitted; job != SCHED_NONE; job = st->jobs[job].admitted_next) {
        uint64_t since = victim_idle_since(s, job),
                 at = since == SCHED_NEVER ? since : since + after;
        if (at > st->now_ns && at < s->idle_at) s->idle_at = at;
    }
}

/* Admits a waiting job whose run has begun, and returns true. Refuses the job if it does not fit.
 */
static bool follow_run(struct sched *s, uint32_t job) {
    struct sched_job *j = &s->st.jobs[job];
    take_waiting(s, job);
    if (try_job(s, job, false)) return true;
    if (victim_may_swap(s) && swap_for(s, job) && j->admitted) return true;
    if (is_pending(j)) take_waiting(s, job);
    refuse(s, job, SCHED_WHY_RUN);
    return false;
}

/* Admits or refuses the waiting processes of every run that has begun. */
static void gather_runs(struct sched *s) {
    struct sched_state *st = &s->st;
    if (!s->gather) return;
    s->gather = false;
    for (uint32_t job = 0; job < st->jobs_cap; job++) {
        const struct sched_job *j = &st->jobs[job];
        if (!j->used || j->admitted || !is_pending(j) || j->spec.paused) continue;
        if (has_peer(s, job)) follow_run(s, job);
    }
    s->gather = false;
}

/* Swaps out idle jobs for the growing job. */
static bool swap_for_grower(struct sched *s) {
    uint32_t job = s->st.grower;
    bool any = false;
    while (job != SCHED_NONE && victim_may_swap(s)) {
        uint64_t sum = 0, missing = grow_missing(s);
        uint32_t victim = victim_find_idle(s, job, &sum);
        if (!missing || victim == SCHED_NONE || sum < missing) break;
        swap_out(s, victim);
        any = true;
    }
    return any;
}

void admit_look(struct sched *s) {
    expire_waits(s);
    take_measured(s);
    uint64_t now_ns = s->st.now_ns;
    if (now_ns >= s->idle_at || now_ns >= s->grow_at || now_ns >= s->part_at) s->look = true;
    if (!s->look) return;
    s->look = false;
    swap_for_grower(s);
    grow_look(s);
    gather_runs(s);
    while (s->st.pending != SCHED_NONE && scan_queue(s))
        gather_runs(s);
    grow_look(s); /* more memory may have been freed than the new job took */
    if (s->st.pending == SCHED_NONE) lanes_keep(s->st.lanes);
    s->part_at = s->st.pending == SCHED_NONE ? SCHED_NEVER : grow_aside_until(s);
    watch_idle(s);
}

void admit_wanted(struct sched *s, uint32_t job) {
    if (!s->st.jobs[job].swapped) return;
    s->st.jobs[job].wanted = true;
    s->look = true;
}

void admit_idled(struct sched *s) {
    uint64_t at = s->st.now_ns + (victim_swaps(s) ? s->config.lease_ns : s->config.idle_after_ns);
    if (victim_may_swap(s) && at < s->idle_at) s->idle_at = at;
}

/* ---- changes of admitted jobs --------------------------------------------------------------- */

void admit_left(struct sched *s, uint32_t job) {
    struct sched_state *st = &s->st;
    struct sched_job *j = &st->jobs[job];
    grow_forget(s, job);
    if (is_pending(j)) take_waiting(s, job);
    if (!j->admitted) return;
    st->unknown_count -= j->spec.unknown;
    uint64_t before = lanes_size(st->lanes, j->lane);
    turn_forget(s, job);
    unlink_admitted(st, job);
    lanes_leave(st->lanes, job);
    settle_lane(s, j->lane, before);
    s->releases++;
    s->look = true;
}

void admit_reserved(struct sched *s, uint32_t job, const struct sched_need *need) {
    if (s->st.jobs[job].admitted)
        set_reservation(s, job, need->persistent_bytes, need->ephemeral_bytes);
}

void admit_boundary(struct sched *s, uint32_t job) {
    struct sched_state *st = &s->st;
    uint32_t lane = st->jobs[job].lane;
    if (st->lane[lane].inside == SCHED_NONE) {
        uint64_t before = lanes_size(st->lanes, lane);
        if (lanes_settle(st->lanes, lane)) {
            grow_resized(s, lane, before);
            s->look = true;
        }
    }
    if (st->pending != SCHED_NONE && (drain_for(s, job) || s->config.swap)) s->look = true;
}
