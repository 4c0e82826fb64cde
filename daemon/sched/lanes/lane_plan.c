/* SPDX-License-Identifier: Apache-2.0
 *
 * Tries plans on paper, from the smallest on.
 */
#include "daemon/sched/lanes/lane_plan.h"

#include <stdlib.h>

#include "daemon/sched/lanes/lane_find.h"

/* Largest number of rehearsals for one plan; each costs O(moving members * lanes). */
#define LANE_PLAN_TRIES 64

/* Simulates moving the members of all draining lanes. Returns the first lane that cannot be
 * emptied; or LANE_NONE, and whether a job with this need fits afterwards. */
static uint32_t rehearse(struct lanes *l, const struct lane_need *need, bool *fits) {
    uint32_t stuck = LANE_NONE, emptied = 0;
    uint64_t used_bytes = l->used_bytes;
    for (uint32_t d = 0; d < l->count && stuck == LANE_NONE; d++) {
        if (!l->lanes[d].draining) continue;
        for (uint32_t i = l->lanes[d].head; i != LANE_NONE; i = l->jobs[i].next) {
            uint32_t to = lanes_target(l, i);
            if (to == LANE_NONE) stuck = d;
            if (to == LANE_NONE) break;
            l->jobs[i].lane = to;
        }
        l->used_bytes -= l->lanes[d].size_bytes;
        emptied++;
    }
    l->open -= emptied;
    *fits = stuck == LANE_NONE && lanes_find(l, need).how != LANE_WAITS;
    l->open += emptied;
    l->used_bytes = used_bytes;
    for (uint32_t d = 0; d < l->count; d++)
        if (l->lanes[d].draining)
            for (uint32_t i = l->lanes[d].head; i != LANE_NONE; i = l->jobs[i].next)
                l->jobs[i].lane = d;
    return stuck;
}

/* The lane of a user that every plan leaves alone, because its largest member fits nowhere else:
 * the lane with the largest need, and among equals the smallest at present. */
static uint32_t find_keeper(const struct lanes *l, uint32_t user) {
    uint32_t best = LANE_NONE;
    for (uint32_t i = 0; i < l->count; i++) {
        const struct lane *a = &l->lanes[i], *b = best == LANE_NONE ? NULL : &l->lanes[best];
        if (!a->open || a->draining || a->user != user) continue;
        if (!b || a->need_bytes > b->need_bytes ||
            (a->need_bytes == b->need_bytes && a->size_bytes < b->size_bytes))
            best = i;
    }
    return best;
}

/* Every member of the lane could move. Members of one lane never exclude each other, so each can be
 * tested alone. */
static bool is_movable(struct lanes *l, uint32_t lane) {
    for (uint32_t i = l->lanes[lane].head; i != LANE_NONE; i = l->jobs[i].next)
        if (lanes_target(l, i) == LANE_NONE) return false;
    return true;
}

static int by_rank(const void *a, const void *b) {
    const struct lane_rank *x = a, *y = b;
    if (x->size_bytes != y->size_bytes) return x->size_bytes < y->size_bytes ? -1 : 1;
    if (x->members != y->members) return x->members < y->members ? -1 : 1;
    return x->lane < y->lane ? -1 : 1;
}

/* Lists the lanes that can be emptied, in ascending order of size. */
static uint32_t find_candidates(struct lanes *l) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < l->count; i++) {
        const struct lane *a = &l->lanes[i];
        if (!a->open || a->draining || i == find_keeper(l, a->user)) continue;
        if (!is_movable(l, i)) continue;
        l->ranks[n++] = (struct lane_rank){a->size_bytes, a->members, i};
    }
    qsort(l->ranks, n, sizeof(*l->ranks), by_rank);
    return n;
}

/* The least memory that must become free, if the job gets the largest existing lane. *most_bytes:
 * the most that can become free. */
static uint64_t missing_bytes(struct lanes *l, const struct lane_need *need, uint64_t *most_bytes) {
    uint64_t largest = 0, wanted, room = lanes_room(l);
    *most_bytes = 0;
    lanes_bar(l, need->group);
    for (uint32_t i = 0; i < l->count; i++) {
        const struct lane *a = &l->lanes[i];
        if (!a->open) continue;
        if (a->draining) {
            room += a->size_bytes;
            continue;
        }
        *most_bytes += a->size_bytes;
        if (a->user == need->user && !lanes_barred(l, i))
            largest = lanes_max(largest, a->size_bytes);
    }
    wanted = lanes_max(need->ephemeral_bytes, largest) - largest + need->persistent_bytes;
    return wanted > room ? wanted - room : 0;
}

static void mark_draining(struct lanes *l, uint32_t first, uint32_t count, bool draining) {
    for (uint32_t i = first; i < first + count; i++)
        lanes_mark(l, l->ranks[i].lane, draining);
}

/* Tries `count` neighbours in the order of size that free enough, from the smallest on. The first
 * that let the job in stay marked. Without groups and with one user this misses no solution: if any
 * `count` lanes suffice, so do the `count` largest. */
static bool slide_window(struct lanes *l, const struct lane_need *need, uint32_t n, uint32_t count,
                         uint64_t missing, uint32_t *tries) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < n && *tries; i++) {
        bool fits;
        sum += l->ranks[i].size_bytes;
        if (i + 1 < count) continue;
        if (i >= count) sum -= l->ranks[i - count].size_bytes;
        if (sum < missing) continue;
        --*tries;
        mark_draining(l, i + 1 - count, count, true);
        rehearse(l, need, &fits);
        if (fits) return true;
        mark_draining(l, i + 1 - count, count, false);
    }
    return false;
}

void lane_plan(struct lanes *l, const struct lane_need *need) {
    uint32_t n, stuck, tries = LANE_PLAN_TRIES;
    uint64_t missing, most_bytes;
    bool fits = false;
    /* Earlier plans remain, except lanes that can no longer be emptied. */
    while (l->draining && (stuck = rehearse(l, need, &fits)) != LANE_NONE)
        lanes_mark(l, stuck, false);
    if (fits) return;
    missing = missing_bytes(l, need, &most_bytes);
    if (missing > most_bytes) return; /* saves the test of every job's target */
    n = find_candidates(l);
    for (uint32_t count = 1; count <= n && tries; count++)
        if (slide_window(l, need, n, count, missing, &tries)) return;
}
