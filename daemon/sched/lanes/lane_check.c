/* SPDX-License-Identifier: Apache-2.0
 *
 * Recomputes all sums and lists of the lanes.
 */
#include "daemon/sched/lanes/lane_check.h"

#include <stddef.h>

#include "daemon/sched/lanes/lane.h"
#include "daemon/sched/lanes/lane_state.h"

static const char *wrong_members(const struct lanes *l, uint32_t lane, uint32_t *seen) {
    const struct lane *a = &l->lanes[lane];
    uint64_t need_bytes = 0;
    uint32_t members = 0, top = 0, last = LANE_NONE;
    for (uint32_t i = a->head; i != LANE_NONE; last = i, i = l->jobs[i].next) {
        uint64_t bytes = lanes_present(&l->jobs[i]);
        if (members++ == l->cap) return "a lane's list of members has no end";
        if (l->jobs[i].lane != lane) return "a member belongs to another lane";
        if (l->jobs[i].user != a->user) return "a lane holds jobs of two users";
        if (l->jobs[i].prev != last) return "a lane's list of members is not linked both ways";
        if (bytes > need_bytes) top = 0;
        need_bytes = lanes_max(need_bytes, bytes);
        if (bytes == need_bytes) top++;
    }
    *seen += members;
    if (members != a->members) return "a lane's number of members is wrong";
    if (a->open != (members > 0)) return "a lane is open without members, or closed with some";
    if (a->draining && !a->open) return "a closed lane drains";
    if (need_bytes != a->need_bytes || top != a->top) return "a lane's largest member is wrong";
    if (a->size_bytes < need_bytes) return "a lane is smaller than its largest member";
    if (!a->open && a->size_bytes) return "a closed lane has a size";
    return NULL;
}

static const char *wrong_group(const struct lanes *l, uint32_t job) {
    const struct lane_job *j = &l->jobs[job];
    bool found = false;
    uint32_t steps = 0;
    for (uint32_t i = jobmap_find(&l->groups, j->group); i != LANE_NONE;
         i = l->jobs[i].group_next) {
        if (steps++ == l->cap) return "a group's list has no end";
        if (l->jobs[i].group != j->group) return "a group's list has a member of another group";
        if (i == job)
            found = true;
        else if (l->jobs[i].lane == j->lane)
            return "two members of a group share a lane";
    }
    return found ? NULL : "a group's list misses a member";
}

static const char *wrong_jobs(const struct lanes *l, uint32_t *admitted,
                              uint64_t *persistent_bytes) {
    for (uint32_t i = 0; i < l->cap; i++) {
        const struct lane_job *j = &l->jobs[i];
        const char *wrong = NULL;
        if (j->lane == LANE_NONE) continue;
        ++*admitted;
        if (!lanes_open(l, j->lane)) return "a job's lane is not open";
        if (!j->swapped) *persistent_bytes += j->persistent_bytes;
        if (j->group) wrong = wrong_group(l, i);
        if (wrong) return wrong;
        if (j->persistent_bytes % l->chunk_bytes || j->ephemeral_bytes % l->chunk_bytes)
            return "a size is not a multiple of the chunk size";
    }
    return NULL;
}

const char *lanes_check(const struct lanes *l) {
    uint64_t persistent_bytes = 0, lanes_bytes = 0;
    uint32_t admitted = 0, members = 0, open = 0, draining = 0;
    const char *wrong = wrong_jobs(l, &admitted, &persistent_bytes);
    for (uint32_t i = 0; i < l->cap && !wrong; i++) {
        if (i >= l->count && l->lanes[i].open) return "an open lane lies beyond the count";
        if (i < l->free_hint && !l->lanes[i].open)
            return "a free lane number is not marked as free";
        wrong = wrong_members(l, i, &members);
        open += l->lanes[i].open;
        draining += l->lanes[i].draining;
        lanes_bytes += l->lanes[i].size_bytes;
    }
    if (wrong) return wrong;
    if (members != admitted) return "a job is not a member of its lane";
    if (open != l->open || draining != l->draining) return "the number of lanes is wrong";
    if (persistent_bytes + lanes_bytes != l->used_bytes) return "the sum of P and L is wrong";
    if (l->used_bytes > l->capacity_bytes) return "sum of P + sum of L exceeds C";
    return NULL;
}
