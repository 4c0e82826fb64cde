/* SPDX-License-Identifier: Apache-2.0
 *
 * Lanes: their members, their sizes, and whether the next job fits. All sums are maintained
 * incrementally. Finding a lane costs O(lanes), removing a lane's largest member O(members), all
 * else O(1).
 *
 * Owner: the scheduler. Thread: its caller's.
 */
#include "daemon/sched/lanes/lane.h"

#include <errno.h>
#include <stdlib.h>

#include "daemon/sched/lanes/lane_find.h"
#include "daemon/sched/lanes/lane_plan.h"
#include "daemon/sched/lanes/lane_state.h"

int lanes_create(struct lanes **out, uint64_t capacity_bytes, uint64_t chunk_bytes) {
    struct lanes *l = calloc(1, sizeof(*l));
    if (!l) return -ENOMEM;
    l->chunk_bytes = chunk_bytes ? chunk_bytes : 1;
    l->capacity_bytes = capacity_bytes - capacity_bytes % l->chunk_bytes;
    l->stamp = 1; /* a lane that was never stamped has 0 */
    *out = l;
    return 0;
}

void lanes_destroy(struct lanes *l) {
    if (!l) return;
    free(l->jobs);
    free(l->lanes);
    free(l->ranks);
    slotmap_finish(&l->groups);
    free(l);
}

static int lanes_grow(void *array, size_t size, uint32_t cap) {
    void **p = array, *grown = reallocarray(*p, cap, size);
    if (!grown) return -ENOMEM;
    *p = grown;
    return 0;
}

bool lanes_memory(struct lanes **out, memory_visit *visit, void *arg) {
    if (!visit(arg, (void **)out, sizeof(**out))) return false;
    struct lanes *l = *out;
    return visit(arg, (void **)&l->jobs, l->cap * sizeof(*l->jobs)) &&
           visit(arg, (void **)&l->lanes, l->cap * sizeof(*l->lanes)) &&
           visit(arg, (void **)&l->ranks, l->cap * sizeof(*l->ranks)) &&
           visit(arg, (void **)&l->groups.entries,
                 slotmap_size(&l->groups) * sizeof(*l->groups.entries));
}

int lanes_reserve(struct lanes *l, uint32_t jobs) {
    if (jobs <= l->cap) return 0;
    uint32_t cap = jobs / 2 < l->cap ? l->cap * 2 : jobs;
    if (lanes_grow(&l->jobs, sizeof(*l->jobs), cap) ||
        lanes_grow(&l->lanes, sizeof(*l->lanes), cap) ||
        lanes_grow(&l->ranks, sizeof(*l->ranks), cap) || slotmap_reserve(&l->groups, cap))
        return -ENOMEM;
    for (uint32_t i = l->cap; i < cap; i++) {
        l->jobs[i] = (struct lane_job){.lane = LANE_NONE};
        l->lanes[i] = (struct lane){.head = LANE_NONE};
    }
    l->cap = cap;
    return 0;
}

void lanes_limit(struct lanes *l, uint32_t max_lanes) {
    l->max_lanes = max_lanes;
}

void lanes_set_aside(struct lanes *l, uint64_t bytes) {
    l->aside_bytes = bytes;
}

void lanes_share(struct lanes *l) {
    l->share = true;
}

static uint32_t lanes_user(const struct lanes *l, uint32_t user) {
    return l->share ? 0 : user;
}

uint64_t lanes_round(const struct lanes *l, uint64_t bytes) {
    uint64_t over = bytes % l->chunk_bytes;
    if (!over) return bytes;
    if (bytes > UINT64_MAX - (l->chunk_bytes - over))
        return UINT64_MAX; /* larger than any memory */
    return bytes - over + l->chunk_bytes;
}

/* The job would fit on an empty device. */
static bool lanes_ever(const struct lanes *l, uint64_t p, uint64_t e) {
    return p <= l->capacity_bytes && e <= l->capacity_bytes - p;
}

/* ---- sizes: the only places that change used_bytes ------------------------------------------- */

static void lanes_resize(struct lanes *l, uint32_t lane, uint64_t bytes) {
    l->used_bytes = l->used_bytes - l->lanes[lane].size_bytes + bytes;
    l->lanes[lane].size_bytes = bytes;
}

static void lanes_count_persistent(struct lanes *l, uint64_t before, uint64_t after) {
    l->used_bytes = l->used_bytes - before + after;
}

/* Counts a member whose need is `bytes`. */
static void lanes_widen(struct lane *lane, uint64_t bytes) {
    if (bytes > lane->need_bytes) {
        lane->need_bytes = bytes;
        lane->top = 0;
    }
    if (bytes == lane->need_bytes) lane->top++;
}

/* Uncounts a member whose need was `bytes`: it left the list, or its need changed. */
static void lanes_narrow(struct lanes *l, struct lane *lane, uint64_t bytes) {
    if (bytes < lane->need_bytes || --lane->top > 0) return;
    lane->need_bytes = 0;
    for (uint32_t i = lane->head; i != LANE_NONE; i = l->jobs[i].next)
        lanes_widen(lane, lanes_present(&l->jobs[i]));
}

/* Updates the lane when a member's need has changed from `before`. */
static void lanes_ask_anew(struct lanes *l, const struct lane_job *j, uint64_t before) {
    struct lane *lane = &l->lanes[j->lane];
    if (lanes_present(j) == before) return;
    lanes_widen(lane, lanes_present(j));
    lanes_narrow(l, lane, before);
}

/* ---- members --------------------------------------------------------------------------------- */

static void lanes_link(struct lanes *l, uint32_t job, uint32_t to) {
    struct lane_job *j = &l->jobs[job];
    struct lane *lane = &l->lanes[to];
    j->lane = to;
    j->prev = LANE_NONE;
    j->next = lane->head;
    if (j->next != LANE_NONE) l->jobs[j->next].prev = job;
    lane->head = job;
    lane->members++;
    lanes_widen(lane, lanes_present(j));
}

static uint32_t lanes_open_one(struct lanes *l, uint64_t bytes, uint32_t user) {
    uint32_t lane = l->free_hint;
    while (lane < l->count && l->lanes[lane].open)
        lane++;
    l->free_hint = lane + 1;
    if (lane == l->count) l->count++;
    l->lanes[lane] = (struct lane){.head = LANE_NONE, .open = true, .user = user};
    lanes_resize(l, lane, bytes);
    l->open++;
    return lane;
}

static void lanes_close(struct lanes *l, uint32_t lane) {
    lanes_mark(l, lane, false);
    lanes_resize(l, lane, 0);
    l->lanes[lane].open = false;
    l->open--;
    if (lane < l->free_hint) l->free_hint = lane;
    while (l->count && !l->lanes[l->count - 1].open)
        l->count--;
    if (l->free_hint > l->count) l->free_hint = l->count;
}

/* "ref(lane) <- ref(lane) - 1; if ref(lane) == 0 then Delete lane" (lines 9-11). */
static void lanes_unlink(struct lanes *l, uint32_t job) {
    struct lane_job *j = &l->jobs[job];
    struct lane *lane = &l->lanes[j->lane];
    if (j->prev == LANE_NONE)
        lane->head = j->next;
    else
        l->jobs[j->prev].next = j->next;
    if (j->next != LANE_NONE) l->jobs[j->next].prev = j->prev;
    lanes_narrow(l, lane, lanes_present(j));
    if (--lane->members == 0) lanes_close(l, j->lane);
    j->lane = LANE_NONE;
}

static void lanes_join_group(struct lanes *l, uint32_t job) {
    struct lane_job *j = &l->jobs[job];
    if (!j->group) return;
    uint32_t first = jobmap_find(&l->groups, j->group);
    j->group_prev = first;
    j->group_next = LANE_NONE;
    if (first == JOBMAP_NONE) {
        jobmap_add(&l->groups, j->group, job);
        return;
    }
    j->group_next = l->jobs[first].group_next;
    l->jobs[first].group_next = job;
    if (j->group_next != LANE_NONE) l->jobs[j->group_next].group_prev = job;
}

static void lanes_leave_group(struct lanes *l, uint32_t job) {
    struct lane_job *j = &l->jobs[job];
    if (!j->group) return;
    if (j->group_next != LANE_NONE) l->jobs[j->group_next].group_prev = j->group_prev;
    if (j->group_prev != LANE_NONE) {
        l->jobs[j->group_prev].group_next = j->group_next;
        return;
    }
    jobmap_remove(&l->groups, j->group, job);
    if (j->group_next != LANE_NONE) jobmap_add(&l->groups, j->group, j->group_next);
}

/* ---- admitting ------------------------------------------------------------------------------- */

enum lane_how lanes_admit(struct lanes *l, uint32_t job, const struct lane_need *need,
                          bool reorganise, uint32_t *lane) {
    struct lane_need n = {lanes_round(l, need->persistent_bytes),
                          lanes_round(l, need->ephemeral_bytes), need->group,
                          lanes_user(l, need->user)};
    *lane = LANE_NONE;
    if (!lanes_ever(l, n.persistent_bytes, n.ephemeral_bytes)) return LANE_NEVER;
    struct lane_choice c = lanes_find(l, &n);
    if (c.how == LANE_WAITS) {
        if (reorganise) lane_plan(l, &n);
        return c.how;
    }
    if (c.how == LANE_OPENED) c.lane = lanes_open_one(l, n.ephemeral_bytes, n.user);
    if (c.how == LANE_REPLACED) lanes_resize(l, c.lane, n.ephemeral_bytes);
    l->jobs[job] = (struct lane_job){.persistent_bytes = n.persistent_bytes,
                                     .ephemeral_bytes = n.ephemeral_bytes,
                                     .group = n.group,
                                     .user = n.user};
    lanes_count_persistent(l, 0, n.persistent_bytes);
    lanes_link(l, job, c.lane);
    lanes_join_group(l, job);
    *lane = c.lane;
    return c.how;
}

void lanes_leave(struct lanes *l, uint32_t job) {
    if (lanes_of(l, job) == LANE_NONE) return;
    if (!l->jobs[job].swapped) lanes_count_persistent(l, l->jobs[job].persistent_bytes, 0);
    lanes_leave_group(l, job);
    lanes_unlink(l, job);
}

/* ---- draining -------------------------------------------------------------------------------- */

bool lanes_drain(struct lanes *l, uint32_t job, uint32_t *to) {
    uint32_t from = lanes_of(l, job);
    *to = LANE_NONE;
    if (from == LANE_NONE || !l->lanes[from].draining) return false;
    uint32_t target = lanes_target(l, job);
    if (target == LANE_NONE) return false;
    lanes_unlink(l, job);
    lanes_link(l, job, target);
    *to = target;
    return true;
}

void lanes_keep(struct lanes *l) {
    for (uint32_t i = 0; i < l->count && l->draining; i++)
        lanes_mark(l, i, false);
}

/* ---- members that change --------------------------------------------------------------------- */

/* The condition holds if the job's lane serves `e` and its P becomes `p`. */
static bool lanes_fits(const struct lanes *l, const struct lane_job *j, uint64_t p, uint64_t e) {
    uint64_t size = l->lanes[j->lane].size_bytes, counted = j->swapped ? 0 : j->persistent_bytes;
    uint64_t room = lanes_free(l) + counted;
    return p <= room && lanes_max(e, size) - size <= room - p;
}

uint64_t lanes_growth(const struct lanes *l, uint32_t job, uint64_t persistent_bytes,
                      uint64_t ephemeral_bytes) {
    uint64_t p = lanes_round(l, persistent_bytes), e = lanes_round(l, ephemeral_bytes);
    if (lanes_of(l, job) == LANE_NONE || !lanes_ever(l, p, e)) return UINT64_MAX;
    const struct lane_job *j = &l->jobs[job];
    uint64_t size = l->lanes[j->lane].size_bytes, counted = j->swapped ? 0 : j->persistent_bytes;
    return lanes_max(p, counted) - counted + lanes_max(e, size) - size;
}

/* Applies a change that lanes_fits has allowed. */
static void lanes_take(struct lanes *l, const struct lane_job *j, uint64_t p, uint64_t e) {
    lanes_count_persistent(l, j->swapped ? 0 : j->persistent_bytes, p);
    if (e > l->lanes[j->lane].size_bytes) lanes_resize(l, j->lane, e);
}

bool lanes_set(struct lanes *l, uint32_t job, uint64_t persistent_bytes, uint64_t ephemeral_bytes) {
    uint64_t p = lanes_round(l, persistent_bytes), e = lanes_round(l, ephemeral_bytes);
    if (lanes_of(l, job) == LANE_NONE || !lanes_ever(l, p, e)) return false;
    struct lane_job *j = &l->jobs[job];
    uint64_t before = lanes_present(j);
    if (!j->swapped) {
        if (!lanes_fits(l, j, p, e)) return false;
        lanes_take(l, j, p, e);
    }
    j->persistent_bytes = p;
    j->ephemeral_bytes = e;
    lanes_ask_anew(l, j, before);
    return true;
}

/* "its lane space is quickly reclaimed at the iteration boundary" (section 3.3.1) */
bool lanes_settle(struct lanes *l, uint32_t lane) {
    if (!lanes_open(l, lane) || l->lanes[lane].need_bytes == l->lanes[lane].size_bytes)
        return false;
    lanes_resize(l, lane, l->lanes[lane].need_bytes);
    return true;
}

void lanes_swap_out(struct lanes *l, uint32_t job) {
    if (lanes_of(l, job) == LANE_NONE || l->jobs[job].swapped) return;
    struct lane_job *j = &l->jobs[job];
    uint64_t before = lanes_present(j);
    lanes_count_persistent(l, j->persistent_bytes, 0);
    j->swapped = true;
    lanes_ask_anew(l, j, before);
}

bool lanes_swap_in(struct lanes *l, uint32_t job) {
    if (lanes_of(l, job) == LANE_NONE) return false;
    struct lane_job *j = &l->jobs[job];
    if (!j->swapped) return true;
    if (!lanes_fits(l, j, j->persistent_bytes, j->ephemeral_bytes)) return false;
    lanes_take(l, j, j->persistent_bytes, j->ephemeral_bytes);
    j->swapped = false;
    lanes_ask_anew(l, j, 0);
    return true;
}

/* ---- queries -------------------------------------------------------------------------------- */

uint32_t lanes_of(const struct lanes *l, uint32_t job) {
    return job < l->cap ? l->jobs[job].lane : LANE_NONE;
}

uint64_t lanes_size(const struct lanes *l, uint32_t lane) {
    return lanes_open(l, lane) ? l->lanes[lane].size_bytes : 0;
}

uint32_t lanes_members(const struct lanes *l, uint32_t lane) {
    return lanes_open(l, lane) ? l->lanes[lane].members : 0;
}

uint32_t lanes_count(const struct lanes *l) {
    return l->count;
}

bool lanes_open(const struct lanes *l, uint32_t lane) {
    return lane < l->count && l->lanes[lane].open;
}

bool lanes_draining(const struct lanes *l, uint32_t lane) {
    return lanes_open(l, lane) && l->lanes[lane].draining;
}

bool lanes_admits(const struct lanes *l, uint32_t lane, uint32_t user) {
    return lanes_open(l, lane) && l->lanes[lane].user == lanes_user(l, user);
}

uint64_t lanes_capacity(const struct lanes *l) {
    return l->capacity_bytes;
}

uint64_t lanes_used(const struct lanes *l) {
    return l->used_bytes;
}

uint64_t lanes_persistent(const struct lanes *l, uint32_t job) {
    return lanes_of(l, job) == LANE_NONE ? 0 : l->jobs[job].persistent_bytes;
}

uint64_t lanes_ephemeral(const struct lanes *l, uint32_t job) {
    return lanes_of(l, job) == LANE_NONE ? 0 : l->jobs[job].ephemeral_bytes;
}
