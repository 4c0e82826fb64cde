/* SPDX-License-Identifier: Apache-2.0
 *
 * Searches all lanes for one that suits a job.
 */
#include "daemon/sched/lanes/lane_find.h"

/* Takes as many steps as the group has admitted members, each of which is in a lane of its own. */
void lanes_bar(struct lanes *l, uint32_t group) {
    l->stamp++;
    if (!group) return;
    for (uint32_t i = jobmap_find(&l->groups, group); i != LANE_NONE; i = l->jobs[i].group_next)
        l->lanes[l->jobs[i].lane].stamp = l->stamp;
}

static bool is_candidate(const struct lanes *l, uint32_t lane, uint32_t user) {
    const struct lane *a = &l->lanes[lane];
    return a->open && a->user == user && !a->draining && !lanes_barred(l, lane);
}

/* Smaller lanes precede; among equal sizes the lane with fewer members, then the lower number.
 * Lanes are examined in ascending order, so that the first of equals wins. */
static bool goes_before(const struct lanes *l, uint32_t a, uint32_t b) {
    const struct lane *x = &l->lanes[a], *y;
    if (b == LANE_NONE) return true;
    y = &l->lanes[b];
    if (x->size_bytes != y->size_bytes) return x->size_bytes < y->size_bytes;
    return x->members < y->members;
}

/* "for all j in L do: if L_j >= E and is the best match then return j" (lines 31-33): the smallest
 * lane that is large enough. */
static uint32_t best_fit(const struct lanes *l, const struct lane_need *need) {
    uint32_t best = LANE_NONE;
    for (uint32_t i = 0; i < l->count; i++)
        if (is_candidate(l, i, need->user) && l->lanes[i].size_bytes >= need->ephemeral_bytes &&
            goes_before(l, i, best))
            best = i;
    return best;
}

/* "for r in L in L_r ascending order do: if sum P_i + P + sum L_j - L_r + E <= C then L_r <- E"
 * (lines 35-38). Considers only lanes with L_r < E: all others would become smaller than their
 * members need. */
static uint32_t smallest_to_grow(const struct lanes *l, const struct lane_need *need) {
    uint64_t room = lanes_room(l) - need->persistent_bytes;
    uint32_t best = LANE_NONE;
    for (uint32_t i = 0; i < l->count; i++)
        if (is_candidate(l, i, need->user) && l->lanes[i].size_bytes < need->ephemeral_bytes &&
            need->ephemeral_bytes - l->lanes[i].size_bytes <= room && goes_before(l, i, best))
            best = i;
    return best;
}

struct lane_choice lanes_find(struct lanes *l, const struct lane_need *need) {
    uint64_t p = need->persistent_bytes, e = need->ephemeral_bytes, room = lanes_room(l);
    uint32_t lane;
    lanes_bar(l, need->group);
    /* "if sum P_i + P + sum L_j + E <= C then lane <- new GPU lane with capacity E" (27-28) */
    if (p <= room && e <= room - p && (!l->max_lanes || l->open < l->max_lanes))
        return (struct lane_choice){LANE_OPENED, LANE_NONE};
    /* As printed, lines 30-33 take a lane without checking P, which would violate the condition. */
    if (p <= room && (lane = best_fit(l, need)) != LANE_NONE)
        return (struct lane_choice){LANE_FITTED, lane};
    if (p <= room && (lane = smallest_to_grow(l, need)) != LANE_NONE)
        return (struct lane_choice){LANE_REPLACED, lane};
    return (struct lane_choice){LANE_WAITS, LANE_NONE}; /* "return not found" (39) */
}

/* Best fit by the size that a lane has after its next boundary, not by its present size. So a
 * boundary between two moves invalidates no plan, and jobs may move in any order (lane_plan.c). A
 * swapped-out job moves only to a lane where it will fit when it comes back. */
uint32_t lanes_target(struct lanes *l, uint32_t job) {
    const struct lane_job *j = &l->jobs[job];
    uint32_t best = LANE_NONE;
    lanes_bar(l, j->group);
    for (uint32_t i = 0; i < l->count; i++) {
        if (i == j->lane || !is_candidate(l, i, j->user) ||
            l->lanes[i].need_bytes < j->ephemeral_bytes)
            continue;
        if (best == LANE_NONE || l->lanes[i].need_bytes < l->lanes[best].need_bytes ||
            (l->lanes[i].need_bytes == l->lanes[best].need_bytes && goes_before(l, i, best)))
            best = i;
    }
    return best;
}

void lanes_mark(struct lanes *l, uint32_t lane, bool draining) {
    if (l->lanes[lane].draining == draining) return;
    l->lanes[lane].draining = draining;
    if (draining)
        l->draining++;
    else
        l->draining--;
}
