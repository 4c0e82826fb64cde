/* SPDX-License-Identifier: Apache-2.0
 *
 * Lanes, as scenarios: each branch of Algorithm 1, the errors of the printed algorithm, the figures
 * of the paper, draining, and swapping. Sizes are in chunks of one byte unless stated otherwise.
 */
#include <criterion/criterion.h>
#include <stdint.h>

#include "daemon/sched/lanes/lane.h"
#include "daemon/sched/lanes/lane_check.h"

#define JOBS 64

static struct lanes *l;
static uint32_t lane; /* result of the latest admit */

static void make(uint64_t capacity) {
    cr_assert_eq(lanes_create(&l, capacity, 1), 0);
    cr_assert_eq(lanes_reserve(l, JOBS), 0);
}

static void end(void) {
    lanes_destroy(l);
    l = NULL;
}

static void sound(void) {
    const char *wrong = lanes_check(l);
    cr_assert_null(wrong, "%s", wrong);
}

static enum lane_how admit_group(uint32_t job, uint64_t p, uint64_t e, uint32_t group,
                                 bool reorganise) {
    struct lane_need need = {p, e, group, 0};
    enum lane_how how = lanes_admit(l, job, &need, reorganise, &lane);
    sound();
    cr_assert_eq(lanes_of(l, job), lane);
    cr_assert_eq(lane == LANE_NONE, how == LANE_WAITS || how == LANE_NEVER);
    return how;
}

static enum lane_how admit(uint32_t job, uint64_t p, uint64_t e) {
    return admit_group(job, p, e, 0, false);
}

static uint32_t drain(uint32_t job) {
    uint32_t to;
    bool moved = lanes_drain(l, job, &to);
    sound();
    cr_assert_eq(moved, to != LANE_NONE);
    if (moved) cr_assert_eq(lanes_of(l, job), to);
    return to;
}

static void leave(uint32_t job) {
    lanes_leave(l, job);
    sound();
    cr_assert_eq(lanes_of(l, job), LANE_NONE);
}

static bool set(uint32_t job, uint64_t p, uint64_t e) {
    bool done = lanes_set(l, job, p, e);
    sound();
    return done;
}

static bool settle(uint32_t which) {
    bool shrunk = lanes_settle(l, which);
    sound();
    return shrunk;
}

#define SIZE(which, bytes) cr_assert_eq(lanes_size(l, which), bytes)
#define USED(bytes) cr_assert_eq(lanes_used(l), bytes, "used %lu", (unsigned long)lanes_used(l))

/* ---- Algorithm 1 ----------------------------------------------------------------------------- */

Test(lane, a_new_lane_is_opened_while_the_condition_allows_it, .fini = end) {
    make(12);
    cr_assert_eq(admit(0, 1, 3), LANE_OPENED);
    cr_assert_eq(admit(1, 1, 3), LANE_OPENED);
    cr_assert_neq(lanes_of(l, 0), lanes_of(l, 1));
    cr_assert_eq(admit(2, 2, 2), LANE_OPENED); /* exactly C */
    USED(12);
    cr_assert_eq(lanes_count(l), 3);
    cr_assert_eq(admit(3, 1, 1), LANE_WAITS);
    USED(12);
}

Test(lane, what_exceeds_the_device_alone_never_fits, .fini = end) {
    make(12);
    cr_assert_eq(admit(0, 6, 7), LANE_NEVER);
    cr_assert_eq(admit(0, 13, 0), LANE_NEVER);
    cr_assert_eq(admit(0, 0, 13), LANE_NEVER);
    cr_assert_eq(admit(0, UINT64_MAX, UINT64_MAX), LANE_NEVER);
    cr_assert_eq(admit(0, 5, 7), LANE_OPENED);
}

Test(lane, the_best_fitting_lane_is_the_smallest_that_is_large_enough, .fini = end) {
    make(20);
    admit(0, 1, 8); /* lane 0 */
    admit(1, 1, 4); /* lane 1 */
    admit(2, 1, 2); /* lane 2; 3 are free */
    cr_assert_eq(admit(3, 0, 4), LANE_FITTED);
    cr_assert_eq(lane, 1);
    cr_assert_eq(admit(4, 1, 3), LANE_FITTED);
    cr_assert_eq(lane, 1);
    cr_assert_eq(admit(5, 1, 5), LANE_FITTED);
    cr_assert_eq(lane, 0);
    USED(19);
}

Test(lane, of_lanes_that_fit_alike_the_one_with_fewest_members_then_the_lowest, .fini = end) {
    make(12);
    for (uint32_t i = 0; i < 3; i++)
        cr_assert_eq(admit(i, 0, 4), LANE_OPENED);
    for (uint32_t i = 3; i < 9; i++) {
        cr_assert_eq(admit(i, 0, 3), LANE_FITTED);
        cr_assert_eq(lane, i % 3);
    }
}

/* "if L_j >= E and is the best match then return j" does not check P. */
Test(lane, a_lane_that_fits_is_not_taken_when_p_does_not, .fini = end) {
    make(12);
    admit(0, 4, 7);
    cr_assert_eq(admit(1, 1, 7), LANE_FITTED);
    cr_assert_eq(admit(2, 1, 7), LANE_WAITS);
    cr_assert_eq(admit(2, 1, 0), LANE_WAITS);
    USED(12);
}

Test(lane, the_smallest_lane_that_may_grow_is_replaced, .fini = end) {
    make(16);
    admit(0, 1, 2); /* lane 0 */
    admit(1, 1, 3); /* lane 1 */
    admit(2, 1, 4); /* lane 2; 4 are free */
    cr_assert_eq(admit(3, 1, 5), LANE_REPLACED);
    cr_assert_eq(lane, 0);
    SIZE(0, 5);
    USED(16);
}

Test(lane, a_lane_too_small_to_grow_so_far_is_passed_over, .fini = end) {
    make(16);
    admit(0, 1, 2);
    admit(1, 1, 3);
    admit(2, 1, 4); /* 4 bytes are free: 2 + 5 does not fit, 3 + 4 does */
    cr_assert_eq(admit(3, 0, 7), LANE_REPLACED);
    cr_assert_eq(lane, 1);
    SIZE(1, 7);
    USED(16);
}

/* As printed, line 37 makes a lane smaller than its members need. */
Test(lane, a_lane_is_not_replaced_by_a_smaller_one, .fini = end) {
    make(12);
    admit(0, 2, 10);
    cr_assert_eq(admit(1, 4, 4), LANE_WAITS); /* 2 + 4 + 12 - 10 + 4 <= 12 */
    SIZE(0, 10);
}

Test(lane, no_more_lanes_than_the_limit, .fini = end) {
    make(100);
    lanes_limit(l, 2);
    cr_assert_eq(admit(0, 1, 5), LANE_OPENED);
    cr_assert_eq(admit(1, 1, 9), LANE_OPENED);
    cr_assert_eq(admit(2, 1, 1), LANE_FITTED);
    cr_assert_eq(lane, 0);
    cr_assert_eq(admit(3, 1, 20), LANE_REPLACED);
    cr_assert_eq(lane, 0);
    lanes_limit(l, 1); /* lanes above the limit stay, and still accept jobs */
    cr_assert_eq(admit(4, 1, 8), LANE_FITTED);
    cr_assert_eq(lane, 1);
    leave(1);
    leave(4);
    cr_assert_eq(admit(5, 1, 8), LANE_FITTED);
    cr_assert_eq(lane, 0);
    lanes_limit(l, 0);
    cr_assert_eq(admit(6, 1, 8), LANE_OPENED);
}

Test(lane, a_job_without_ephemeral_memory_gets_a_lane_of_nothing, .fini = end) {
    make(4);
    cr_assert_eq(admit(0, 2, 0), LANE_OPENED);
    cr_assert_eq(admit(1, 2, 0), LANE_OPENED);
    cr_assert_eq(admit(2, 0, 0), LANE_OPENED);
    USED(4);
    cr_assert_eq(lanes_count(l), 3);
    cr_assert_eq(lanes_members(l, 2), 1);
    cr_assert_eq(admit(3, 1, 0), LANE_WAITS);
}

Test(lane, numbers_of_closed_lanes_are_used_again_the_lowest_first, .fini = end) {
    make(100);
    for (uint32_t i = 0; i < 4; i++)
        admit(i, 1, 1);
    leave(2);
    leave(0);
    cr_assert_not(lanes_open(l, 0));
    cr_assert_eq(lanes_count(l), 4);
    admit(4, 1, 1);
    cr_assert_eq(lane, 0);
    admit(5, 1, 1);
    cr_assert_eq(lane, 2);
    leave(3);
    cr_assert_eq(lanes_count(l), 3);
    admit(6, 1, 1);
    cr_assert_eq(lane, 3);
}

/* ---- the figures ----------------------------------------------------------------------------- */

/* 12 GB, P = 1 and E = 7 for both: without lanes, both jobs end up waiting for 3 GB. */
Test(lane, the_deadlock_of_figure_6_is_refused, .fini = end) {
    make(12);
    cr_assert_eq(admit(0, 1, 7), LANE_OPENED);
    cr_assert_eq(admit(1, 1, 7), LANE_FITTED); /* one after the other, in one lane */
    USED(9);
    leave(1);
    cr_assert_eq(admit(1, 1, 3), LANE_OPENED);
    cr_assert_not(set(1, 1, 7)); /* growing without a reservation is denied, not queued */
    USED(12);
    leave(1);
    admit_group(1, 0, 0, 0, false);
    leave(1);
    leave(0);
    /* Jobs that wait for one another cannot take turns: the second one is not admitted. */
    cr_assert_eq(admit_group(0, 1, 7, 5, true), LANE_OPENED);
    cr_assert_eq(admit_group(1, 1, 7, 5, true), LANE_WAITS);
}

/* Figure 7: "when the small job stops, its lane space is quickly reclaimed at the iteration
 * boundary by the job that was allocated below it". Its space is free at once; the space of a
 * lane whose largest job stops is free at the lane's next boundary. */
Test(lane, lanes_defragment_by_themselves_as_in_figure_7, .fini = end) {
    make(20);
    admit(0, 2, 6);                            /* A */
    admit(1, 2, 3);                            /* B */
    cr_assert_eq(admit(2, 2, 1), LANE_OPENED); /* C: the small job; 4 bytes are free */
    leave(2);
    USED(13);
    cr_assert_eq(admit(3, 2, 5), LANE_OPENED);
    cr_assert_eq(admit(4, 0, 4), LANE_FITTED);
    cr_assert_eq(lane, lanes_of(l, 3));
    leave(3); /* the largest job of its lane: pages of job 4 may lie anywhere in the lane */
    SIZE(lanes_of(l, 4), 5);
    cr_assert_eq(admit(5, 3, 0), LANE_WAITS);
    cr_assert(settle(lanes_of(l, 4)));
    SIZE(lanes_of(l, 4), 4);
    cr_assert_not(settle(lanes_of(l, 4)));
    cr_assert_eq(admit(5, 3, 0), LANE_OPENED);
    USED(20);
}

/* ---- growing and shrinking ------------------------------------------------------------------- */

Test(lane, growing_is_refused_unless_the_condition_holds_afterwards, .fini = end) {
    make(12);
    admit(0, 1, 4);
    admit(1, 1, 3);
    cr_assert_not(set(0, 5, 4));
    cr_assert_not(set(0, 1, 8));
    cr_assert_not(set(0, 2, 7));
    cr_assert_not(set(0, 0, UINT64_MAX));
    cr_assert_eq(lanes_persistent(l, 0), 1);
    cr_assert_eq(lanes_ephemeral(l, 0), 4);
    cr_assert(set(0, 2, 6));
    SIZE(lanes_of(l, 0), 6);
    USED(12);
    cr_assert(set(1, 0, 3));
    cr_assert(set(0, 3, 5)); /* P grows now, the lane shrinks at its next boundary */
    USED(12);
    SIZE(lanes_of(l, 0), 6);
}

Test(lane, a_lane_shrinks_at_its_boundary_to_what_is_left, .fini = end) {
    make(12);
    lanes_limit(l, 1);
    admit(0, 0, 8);
    admit(1, 0, 8);
    admit(2, 0, 3);
    leave(0);
    cr_assert_not(settle(0));
    cr_assert(set(1, 0, 2));
    SIZE(0, 8);
    cr_assert(settle(0));
    SIZE(0, 3);
    cr_assert(set(2, 0, 1));
    cr_assert(set(1, 0, 3)); /* within the lane's size */
    cr_assert_not(settle(0));
}

Test(lane, sizes_are_whole_chunks, .fini = end) {
    cr_assert_eq(lanes_create(&l, 1000, 64), 0);
    cr_assert_eq(lanes_reserve(l, 2), 0);
    cr_assert_eq(lanes_capacity(l), 960);
    cr_assert_eq(lanes_round(l, 0), 0);
    cr_assert_eq(lanes_round(l, 64), 64);
    cr_assert_eq(lanes_round(l, 65), 128);
    cr_assert_eq(lanes_round(l, UINT64_MAX - 1), UINT64_MAX);
    cr_assert_eq(admit(0, 1, 65), LANE_OPENED);
    USED(192);
    cr_assert_eq(lanes_ephemeral(l, 0), 128);
    cr_assert(set(0, 60, 70));
    USED(192);
    cr_assert_eq(admit(1, 769, 0), LANE_WAITS);
    cr_assert_eq(admit(1, 768, 0), LANE_OPENED);
}

Test(lane, a_device_without_bound, .fini = end) {
    cr_assert_eq(lanes_create(&l, UINT64_MAX, 2 << 20), 0);
    cr_assert_eq(lanes_reserve(l, 3), 0);
    cr_assert_eq(admit(0, UINT64_MAX / 2, UINT64_MAX / 4), LANE_OPENED);
    cr_assert_eq(admit(1, UINT64_MAX / 4, UINT64_MAX / 8), LANE_WAITS);
    cr_assert_eq(admit(1, UINT64_MAX / 8, UINT64_MAX / 8), LANE_FITTED);
    cr_assert_eq(admit(2, UINT64_MAX, 0), LANE_NEVER);
}

/* ---- groups ---------------------------------------------------------------------------------- */

Test(lane, members_of_a_group_never_share_a_lane, .fini = end) {
    make(20);
    cr_assert_eq(admit_group(0, 1, 6, 7, false), LANE_OPENED);
    cr_assert_eq(admit_group(1, 1, 5, 7, false), LANE_OPENED);
    cr_assert_eq(admit_group(2, 1, 5, 8, false), LANE_OPENED); /* 1 is free */
    cr_assert_eq(admit_group(3, 0, 5, 7, false), LANE_FITTED);
    cr_assert_eq(lane, 2);
    cr_assert_eq(admit_group(4, 0, 2, 7, false), LANE_WAITS);
    cr_assert_eq(admit_group(4, 0, 6, 7, false), LANE_WAITS);
    cr_assert_eq(admit_group(4, 0, 2, 8, false), LANE_FITTED);
    cr_assert_eq(lane, 1);
    leave(0); /* the group's list begins with it */
    cr_assert_eq(admit_group(5, 0, 6, 7, false), LANE_OPENED);
    leave(3);
    cr_assert_eq(admit_group(6, 0, 5, 7, false), LANE_FITTED);
    cr_assert_eq(lane, 2);
}

/* ---- reorganising ---------------------------------------------------------------------------- */

Test(lane, the_least_number_of_lanes_is_drained_the_smallest_first, .fini = end) {
    make(20);
    admit(0, 0, 2);
    admit(1, 0, 4);
    admit(2, 0, 5);
    admit(3, 0, 9);
    cr_assert_eq(admit(4, 3, 9), LANE_WAITS);
    for (uint32_t i = 0; i < 4; i++)
        cr_assert_not(lanes_draining(l, i)); /* reorganising was not requested */
    cr_assert_eq(admit_group(4, 3, 9, 0, true), LANE_WAITS);
    for (uint32_t i = 0; i < 4; i++)
        cr_assert_eq(lanes_draining(l, i), i == 1, "lane %u", i);
    SIZE(1, 4);
    cr_assert_eq(drain(0), LANE_NONE);
    cr_assert_eq(admit_group(4, 3, 9, 0, true), LANE_WAITS); /* the plan stays as it is */
    cr_assert_not(lanes_draining(l, 0));
    cr_assert_eq(drain(1), 2);
    cr_assert_not(lanes_open(l, 1));
    cr_assert_eq(admit(4, 3, 9), LANE_FITTED);
    USED(19);
}

Test(lane, two_lanes_are_drained_where_one_is_not_enough, .fini = end) {
    make(20);
    admit(0, 0, 2);
    admit(1, 0, 4);
    admit(2, 0, 5);
    admit(3, 0, 9);
    cr_assert_eq(admit_group(4, 6, 9, 0, true), LANE_WAITS); /* 2 + 4 */
    cr_assert(lanes_draining(l, 0) && lanes_draining(l, 1));
    cr_assert_not(lanes_draining(l, 2) || lanes_draining(l, 3));
    cr_assert_eq(drain(0), 2);
    cr_assert_eq(admit_group(4, 6, 9, 0, true), LANE_WAITS);
    cr_assert_eq(drain(1), 2);
    cr_assert_eq(admit_group(4, 6, 9, 0, true), LANE_FITTED);
}

Test(lane, no_plan_is_made_that_does_not_help, .fini = end) {
    make(20);
    admit(0, 3, 6);
    admit(1, 2, 9);
    cr_assert_eq(admit_group(2, 7, 2, 0, true), LANE_WAITS); /* 6 bytes become free, 7 are needed */
    cr_assert_not(lanes_draining(l, 0) || lanes_draining(l, 1));
    cr_assert_eq(admit_group(2, 6, 9, 0, true), LANE_WAITS);
    cr_assert(lanes_draining(l, 0));
}

Test(lane, a_draining_lane_takes_nobody, .fini = end) {
    make(20);
    admit(0, 3, 5);
    admit(1, 3, 9);
    cr_assert_eq(admit_group(2, 5, 9, 0, true), LANE_WAITS);
    cr_assert(lanes_draining(l, 0));
    cr_assert_eq(admit(3, 0, 5), LANE_FITTED);
    cr_assert_eq(lane, 1);
    cr_assert(set(0, 1, 7)); /* a member may still grow */
    lanes_keep(l);
    cr_assert_not(lanes_draining(l, 0));
    cr_assert_eq(drain(0), LANE_NONE);
    cr_assert_eq(admit(4, 0, 5), LANE_FITTED);
    cr_assert_eq(lane, 0);
}

Test(lane, draining_keeps_groups_apart, .fini = end) {
    make(30);
    admit_group(0, 0, 5, 1, false); /* lane 0 */
    admit_group(1, 0, 5, 2, false); /* lane 1 */
    admit_group(2, 0, 9, 1, false); /* lane 2 */
    admit_group(3, 0, 9, 2, false); /* lane 3; 2 are free */
    cr_assert_eq(admit_group(4, 7, 9, 0, true), LANE_WAITS);
    /* the job of lane 0 fits into lane 1 or 3, where group 1 has no member */
    cr_assert(lanes_draining(l, 0));
    cr_assert_eq(drain(0), 1);
    cr_assert_eq(admit_group(4, 7, 9, 0, true), LANE_FITTED);
    leave(4);
    /* Lane 1 now has members of both groups; its members go to different lanes. */
    cr_assert_eq(admit_group(4, 12, 9, 0, true), LANE_WAITS);
    cr_assert(lanes_draining(l, 1));
    cr_assert_eq(drain(0), 3);
    cr_assert_eq(drain(1), 2);
    cr_assert_eq(lanes_members(l, 2) + lanes_members(l, 3), 4);
    /* every lane has members of both groups */
    cr_assert_eq(admit_group(4, 13, 9, 0, true), LANE_WAITS);
    cr_assert_not(lanes_draining(l, 2) || lanes_draining(l, 3));
}

/* Two members of a group, from two lanes, go to different lanes. */
Test(lane, members_of_a_group_from_two_draining_lanes_part, .fini = end) {
    for (int order = 0; order < 2; order++) {
        make(36);
        admit_group(0, 0, 3, 1, false);
        admit_group(1, 0, 5, 1, false);
        admit_group(2, 0, 9, 2, false);
        admit_group(3, 0, 10, 2, false);
        admit_group(4, 0, 9, 2, false);
        cr_assert_eq(admit_group(5, 8, 9, 0, true), LANE_WAITS);
        cr_assert(lanes_draining(l, 0) && lanes_draining(l, 1));
        cr_assert_neq(drain(order ? 1 : 0), LANE_NONE);
        cr_assert_neq(drain(order ? 0 : 1), LANE_NONE);
        cr_assert_neq(lanes_of(l, 0), lanes_of(l, 1));
        cr_assert_eq(admit(5, 8, 9), LANE_FITTED);
        end();
    }
}

/* Lanes 0 and 1 keep 8 bytes after their boundaries: one of them takes the other's jobs. The
 * lane that is larger now is emptied, although it does not come next to lane 2 in size. */
Test(lane, of_lanes_that_keep_as_much_the_largest_now_is_emptied, .fini = end) {
    make(24);
    admit(0, 0, 9);
    admit(1, 0, 10);
    admit(2, 0, 5);
    cr_assert(set(0, 0, 8) && set(1, 0, 8) && set(2, 0, 3));
    cr_assert_eq(admit_group(3, 15, 8, 0, true), LANE_WAITS);
    cr_assert(!lanes_draining(l, 0) && lanes_draining(l, 1) && lanes_draining(l, 2));
    cr_assert_eq(drain(1), 0);
    cr_assert_eq(drain(2), 0);
    cr_assert_eq(admit(3, 15, 8), LANE_FITTED);
}

/* Lane 2 is between lanes 1 and 3 in size, but every lane that fits its job has a member of the
 * job's group. */
Test(lane, a_lane_that_cannot_be_emptied_is_left_out, .fini = end) {
    make(21);
    admit(0, 0, 1);
    admit(1, 0, 2);
    admit_group(2, 0, 4, 1, false);
    admit(3, 0, 5);
    admit_group(4, 0, 9, 1, false);
    cr_assert_eq(admit_group(5, 0, 5, 1, false), LANE_FITTED);
    cr_assert_eq(lane, 3);
    cr_assert(set(5, 0, 1));
    cr_assert_eq(admit_group(6, 7, 9, 0, true), LANE_WAITS);
    for (uint32_t i = 0; i < 5; i++)
        cr_assert_eq(lanes_draining(l, i), i == 1 || i == 3, "lane %u", i);
    cr_assert_eq(drain(1), 2);
    cr_assert_eq(drain(3), 4);
    cr_assert_eq(drain(5), 0);
    cr_assert_eq(admit(6, 7, 9), LANE_FITTED);
}

Test(lane, a_lane_is_closed_where_no_more_may_be_opened, .fini = end) {
    make(19);
    lanes_limit(l, 3);
    admit_group(0, 0, 5, 1, false);
    admit_group(1, 0, 7, 1, false);
    admit(2, 0, 6);
    cr_assert_eq(admit_group(3, 3, 4, 1, true), LANE_WAITS);
    cr_assert(!lanes_draining(l, 0) && !lanes_draining(l, 1) && lanes_draining(l, 2));
    cr_assert_eq(drain(2), 1);
    cr_assert_eq(admit_group(3, 3, 4, 1, false), LANE_OPENED);
}

/* The member that keeps lane 1 large leaves: lane 0's jobs fit nowhere after lane 1's boundary. */
Test(lane, a_plan_that_can_no_longer_be_kept_is_given_up, .fini = end) {
    make(20);
    admit(0, 2, 6);
    admit(1, 0, 8);
    lanes_limit(l, 2);
    cr_assert_eq(admit(2, 0, 4), LANE_FITTED); /* lane 0 */
    cr_assert_eq(admit_group(3, 9, 2, 0, true), LANE_WAITS);
    cr_assert(lanes_draining(l, 0));
    admit(4, 0, 7); /* lane 1 */
    leave(1);
    cr_assert(settle(lanes_of(l, 4)));
    cr_assert(set(0, 2, 7)); /* as large as lane 1: the plan is still possible */
    cr_assert_eq(admit_group(3, 9, 2, 0, true), LANE_WAITS);
    cr_assert(lanes_draining(l, 0));
    cr_assert(set(0, 2, 8)); /* too large for lane 1, so lane 1 is drained into lane 0 instead */
    cr_assert_eq(admit_group(3, 9, 2, 0, true), LANE_WAITS);
    cr_assert_not(lanes_draining(l, 0));
    cr_assert(lanes_draining(l, 1));
    cr_assert_eq(drain(4), 0);
    cr_assert_eq(admit(3, 9, 2), LANE_FITTED);
}

/* ---- swapping -------------------------------------------------------------------------------- */

Test(lane, a_swapped_job_counts_nothing_but_stays_a_member, .fini = end) {
    make(12);
    admit(0, 5, 5);
    lanes_swap_out(l, 0);
    sound();
    USED(5);
    cr_assert_eq(lanes_members(l, 0), 1);
    cr_assert(settle(0));
    USED(0);
    lanes_swap_out(l, 0); /* a second call has no effect */
    sound();
    cr_assert_eq(admit(1, 4, 4), LANE_OPENED);
    cr_assert_not(lanes_swap_in(l, 0));
    USED(8);
    cr_assert(set(1, 2, 4));
    cr_assert_not(lanes_swap_in(l, 0));
    cr_assert(set(1, 1, 1) && settle(1));
    cr_assert(lanes_swap_in(l, 0));
    sound();
    SIZE(0, 5);
    USED(12);
    cr_assert(lanes_swap_in(l, 0));
    USED(12);
}

Test(lane, a_swapped_job_may_change_its_word_and_leave, .fini = end) {
    make(12);
    admit(0, 5, 5);
    admit(1, 1, 1);
    lanes_swap_out(l, 0);
    cr_assert(set(0, 6, 6));
    cr_assert_not(set(0, 6, 7)); /* it would never fit on the device again */
    USED(7);
    cr_assert_not(lanes_swap_in(l, 0));
    leave(0);
    USED(2);
    cr_assert_eq(admit(0, 5, 5), LANE_OPENED); /* the slot has no leftover state */
    USED(12);
}

Test(lane, what_is_unknown_is_answered, .fini = end) {
    make(12);
    uint32_t to;
    lanes_destroy(NULL);
    cr_assert_eq(lanes_of(l, 3), LANE_NONE);
    cr_assert_eq(lanes_of(l, JOBS), LANE_NONE);
    cr_assert_not(lanes_drain(l, 3, &to));
    cr_assert_not(lanes_set(l, 3, 0, 0));
    cr_assert_not(lanes_swap_in(l, 3));
    cr_assert_not(lanes_settle(l, 3));
    lanes_swap_out(l, 3);
    leave(3);
    SIZE(3, 0);
    cr_assert_eq(lanes_members(l, 3), 0);
    cr_assert_not(lanes_open(l, JOBS));
    cr_assert_eq(lanes_persistent(l, 3) + lanes_ephemeral(l, 3), 0);
    cr_assert_eq(lanes_reserve(l, JOBS * 3), 0);
    cr_assert_eq(admit(JOBS * 3 - 1, 1, 1), LANE_OPENED);
}

/* ---- users ----------------------------------------------------------------------------------- */

static enum lane_how admit_user(uint32_t job, uint64_t p, uint64_t e, uint32_t user,
                                bool reorganise) {
    struct lane_need need = {p, e, 0, user};
    enum lane_how how = lanes_admit(l, job, &need, reorganise, &lane);
    sound();
    return how;
}

Test(lane, users_never_share_a_lane, .fini = end) {
    make(12);
    cr_assert_eq(admit_user(0, 1, 8, 1, false), LANE_OPENED);
    cr_assert_eq(admit_user(1, 1, 4, 2, false), LANE_WAITS, "another user's lane fits");
    cr_assert_eq(admit_user(2, 1, 4, 1, false), LANE_FITTED);
    cr_assert_eq(lane, 0);
    cr_assert_eq(admit_user(1, 1, 1, 2, false), LANE_OPENED);
    cr_assert(lanes_admits(l, 0, 1) && !lanes_admits(l, 0, 2));
    USED(12);
}

Test(lane, another_users_lane_is_not_grown, .fini = end) {
    make(12);
    admit_user(0, 1, 3, 1, false);
    lanes_limit(l, 1);
    cr_assert_eq(admit_user(1, 1, 5, 2, false), LANE_WAITS);
    cr_assert_eq(admit_user(1, 1, 5, 1, false), LANE_REPLACED);
    SIZE(0, 5);
}

Test(lane, a_number_that_is_used_again_may_be_another_users, .fini = end) {
    make(12);
    admit_user(0, 1, 8, 1, false);
    leave(0);
    cr_assert_eq(admit_user(1, 1, 8, 2, false), LANE_OPENED);
    cr_assert_eq(lane, 0);
    cr_assert(lanes_admits(l, 0, 2) && !lanes_admits(l, 0, 1));
}

/* Lane 0 would fit into lane 1, which is larger, but belongs to another user. */
Test(lane, a_drained_lane_goes_into_lanes_of_its_user, .fini = end) {
    make(14);
    admit_user(0, 0, 4, 1, false);
    admit_user(1, 0, 6, 2, false);
    admit_user(2, 0, 3, 1, false); /* 1 is free */
    cr_assert_eq(admit_user(3, 4, 0, 3, true), LANE_WAITS);
    cr_assert(lanes_draining(l, 2) && !lanes_draining(l, 0) && !lanes_draining(l, 1));
    cr_assert_eq(drain(2), 0);
    cr_assert_eq(admit_user(3, 4, 0, 3, true), LANE_OPENED);
}

Test(lane, the_only_lane_of_a_user_is_not_drained, .fini = end) {
    make(10);
    admit_user(0, 0, 4, 1, false);
    admit_user(1, 0, 6, 2, false);
    cr_assert_eq(admit_user(2, 4, 0, 3, true), LANE_WAITS);
    cr_assert(!lanes_draining(l, 0) && !lanes_draining(l, 1));
}

Test(lane, users_that_share_are_one, .fini = end) {
    make(12);
    lanes_share(l);
    admit_user(0, 1, 8, 1, false);
    cr_assert_eq(admit_user(1, 1, 4, 2, false), LANE_FITTED);
    cr_assert_eq(lane, 0);
    cr_assert(lanes_admits(l, 0, 3));
}
