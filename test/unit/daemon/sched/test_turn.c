/* SPDX-License-Identifier: Apache-2.0
 *
 * Admission, turns and lane policies as timed traces (schedtrace.h has the notation).
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/sched/core/life.h"
#include "daemon/sched/core/view.h"
#include "daemon/sched/state.h"
#include "test/lib/sched/schedtrace.h"

static struct sched *make(struct policy_config policy, uint64_t capacity) {
    struct sched *s;
    char why[160] = "";
    policy.inflight_cap = 16;
    policy.priorities = policy.by_class = policy.by_size = -1;
    struct sched_config config = {.policy = policy, .capacity_bytes = capacity, .chunk_bytes = 1};
    if (!policy.lease_ns) config.policy.lease_ns = 1000;
    cr_assert_eq(sched_create(&s, &config, why, sizeof(why)), 0, "%s", why);
    return s;
}

static void expect(const char *lane, uint64_t capacity, const char *script, const char *trace) {
    struct policy_config policy = {.exclusive = -1, .swap = -1};
    snprintf(policy.lane, sizeof(policy.lane), "%s", lane);
    struct sched *s = make(policy, capacity);
    SCHEDTRACE_EXPECT(s, script, trace);
    sched_destroy(s);
}

/* ---- one lane -------------------------------------------------------------------------------- */

Test(turn, one_iteration_at_a_time_in_a_lane) {
    expect("fair", 10,
           "@0 +1(1,6) +2(1,6)\n"
           "@1 1:10 2:20\n"
           "@2 1=10*5 1|\n"
           "@3 1:11/1\n"
           "@4 2=20*7 2|\n",
           "@0 lane 0=6, admit 1@0, admit 2@0\n"
           "@1 switch 1, run 1:10, arm 1001\n"
           "@2 switch 2, run 2:20\n"
           "@3\n"
           "@4 switch 1, run 1:11\n");
}

/* Operations that were submitted ahead wait for the next turn, even when the device is idle. */
Test(turn, the_next_iteration_waits_for_its_turn) {
    expect("fair", 10,
           "@0 +1(1,6) +2(1,6)\n"
           "@1 1:10 1:11 1:12/1 2:20\n"
           "@2 1=10 1=11 1|\n"
           "@3 2=20*9 2|\n",
           "@0 lane 0=6, admit 1@0, admit 2@0\n"
           "@1 switch 1, run 1:10, run 1:11, arm 1001\n"
           "@2 switch 2, run 2:20\n"
           "@3 switch 1, run 1:12\n");
}

Test(turn, a_lone_job_keeps_its_turn_without_a_switch) {
    expect("fair", 10,
           "@0 +1(1,6)\n"
           "@1 1:10 1:11/1\n"
           "@2 1=10 1| 1:12/2\n"
           "@3 1=11 1|\n",
           "@0 lane 0=6, admit 1@0\n"
           "@1 switch 1, run 1:10\n"
           "@2 run 1:11\n"
           "@3 run 1:12\n");
}

Test(turn, lanes_run_side_by_side) {
    expect("pack", 20,
           "@0 +1(1,6) +2(1,6) +3(1,6)\n"
           "@1 1:10 2:20 3:30\n"
           "@2 1=10 1|\n"
           "@3 -1\n"
           "@4 3=30\n",
           "@0 lane 0=6, admit 1@0, lane 1=6, admit 2@1, admit 3@0\n"
           "@1 switch 1, switch 2, run 1:10, run 2:20, arm 1001\n"
           "@2 switch 3, run 3:30\n"
           "@3\n"
           "@4\n");
}

Test(turn, exclusive_lets_one_lane_run_at_a_time) {
    struct sched *s = make((struct policy_config){.lane = "fair", .exclusive = 1, .swap = -1}, 20);
    SCHEDTRACE_EXPECT(s,
                      "@0 +1(1,6) +2(1,6)\n"
                      "@1 1:10 2:20\n"
                      "@2 1=10 1|\n",
                      "@0 lane 0=6, admit 1@0, lane 1=6, admit 2@1\n"
                      "@1 switch 1, run 1:10, arm 1001\n"
                      "@2 switch 2, run 2:20\n");
    sched_destroy(s);
}

/* ---- policies -------------------------------------------------------------------------------- */

Test(turn, fifo_runs_a_job_to_its_end) {
    expect("fifo", 10,
           "@0 +1(1,6) +2(1,2)\n"
           "@1 1:10 2:20\n"
           "@2 1=10 1|\n"
           "@3 1:11/1\n"
           "@4 1=11 1| -1\n",
           "@0 lane 0=6, admit 1@0, lane 1=2, admit 2@1\n"
           "@1 switch 1, run 1:10\n"
           "@2\n"
           "@3 run 1:11\n"
           "@4 lane 0=0, switch 2, run 2:20\n");
}

/* The lane that the job waits for is not its own. */
Test(turn, a_job_alone_in_its_lane_waits_for_another_lane) {
    struct sched *s = make((struct policy_config){.lane = "fifo", .exclusive = -1, .swap = -1}, 20);
    struct sched_job_view v;
    free(schedtrace_run(s, "@0 +1(1,6) +2(1,6) +3(1,6)\n"
                           "@1 1:10 2:20 3:30\n"));
    cr_assert(sched_job(s, 2, &v));
    cr_expect(!v.turn && v.lane == 1 && v.why == SCHED_WHY_LANE);
    free(schedtrace_run(s, "@2 1=10 -1\n"));
    cr_assert(sched_job(s, 2, &v));
    cr_expect(v.turn && v.why == SCHED_WHY_NONE);
    sched_destroy(s);
}

Test(turn, srtf_preempts_at_the_boundary) {
    expect("srtf", 10,
           "@0 +1(1,6)d1000\n"
           "@1 1:10 1:11/1\n"
           "@2 +2(1,6)d50\n"
           "@3 2:20\n"
           "@4 1=10*100 1|\n"
           "@5 2=20*50 2| -2\n",
           "@0 lane 0=6, admit 1@0\n"
           "@1 switch 1, run 1:10\n"
           "@2 admit 2@0\n"
           "@3 arm 1001\n"
           "@4 switch 2, run 2:20\n"
           "@5 switch 1, run 1:11\n");
}

/* Ranks by remaining iterations times the time of one; a job that has run none goes first, once. */
Test(turn, srtf_learns_the_remaining_time) {
    expect("srtf", 10,
           "@0 +1(1,6)i10 +2(1,6)i3\n"
           "@1 1:10 1:11/1 2:20 2:21/1\n"
           "@2 1=10*100 1|\n"
           "@3 2=20*500 2|\n"
           "@4 1=11*100 1|\n",
           "@0 lane 0=6, admit 1@0, admit 2@0\n"
           "@1 switch 1, run 1:10, arm 1001\n"
           "@2 switch 2, run 2:20\n"
           "@3 switch 1, run 1:11\n"
           "@4 switch 2, run 2:21\n");
}

Test(turn, fair_gives_by_weight) {
    expect("fair", 10,
           "@0 +1(1,6)w2 +2(1,6)\n"
           "@1 1:10 2:20\n"
           "@2 1=10*100 1| 1:11/1\n"
           "@3 2=20*100 2| 2:21/1\n"
           "@4 1=11*100 1| 1:12/2\n"
           "@5 1=12*100 1| 1:13/3\n"
           "@6 2=21*100 2|\n",
           "@0 lane 0=6, admit 1@0, admit 2@0\n"
           "@1 switch 1, run 1:10, arm 1001\n"
           "@2 switch 2, run 2:20\n"
           "@3 switch 1, run 1:11\n"
           "@4 run 1:12\n"
           "@5 switch 2, run 2:21\n"
           "@6 switch 1, run 1:13\n");
}

Test(turn, a_newcomer_begins_where_the_lane_is) {
    expect("fair", 10,
           "@0 +1(1,6)\n"
           "@1 1:10 1:11/1\n"
           "@2 1=10*500 1| 1:12/2\n"
           "@3 1=11*500 1| 1:13/3\n"
           "@4 +2(1,6) 2:20 2:21/1\n"
           "@5 1=12*500 1| 1:14/4\n"
           "@6 2=20*500 2|\n"
           "@7 1=13*500 1|\n",
           "@0 lane 0=6, admit 1@0\n"
           "@1 switch 1, run 1:10\n"
           "@2 run 1:11\n"
           "@3 run 1:12\n"
           "@4 admit 2@0, arm 1003\n"
           "@5 switch 2, run 2:20\n"
           "@6 switch 1, run 1:13\n"
           "@7 switch 2, run 2:21\n");
}

Test(turn, a_higher_priority_goes_before_any_rank) {
    expect("fair", 10,
           "@0 +1(1,6) +2(1,6)h1\n"
           "@1 1:10 1:11/1\n"
           "@2 2:20 2:21/1\n"
           "@3 1=10 1|\n"
           "@4 2=20*900 2|\n"
           "@5 2=21*900 2|\n",
           "@0 lane 0=6, admit 2@0, admit 1@0\n"
           "@1 switch 1, run 1:10\n"
           "@2 arm 1001\n"
           "@3 switch 2, run 2:20\n"
           "@4 run 2:21\n"
           "@5 switch 1, run 1:11\n");
}

/* ---- admission ------------------------------------------------------------------------------- */

Test(turn, what_never_fits_is_refused_and_what_does_not_fit_waits) {
    expect("pack", 10,
           "@0 +1(5,6)\n"
           "@1 +2(2,6)\n"
           "@2 +3(5,4) +4(2,2)\n"
           "@3 -2\n",
           "@0 refuse 1 TOO_LARGE\n"
           "@1 lane 0=6, admit 2@0\n"
           "@2 admit 4@0\n"
           "@3 lane 0=2\n");
}

Test(turn, a_release_admits_the_pending) {
    expect("pack", 10,
           "@0 +1(4,6) +2(4,6) +3(4,5)\n"
           "@1 -1\n"
           "@2 -2\n",
           "@0 lane 0=6, admit 1@0\n"
           "@1 lane 0=0, lane 0=6, admit 2@0\n"
           "@2 lane 0=0, lane 0=5, admit 3@0\n");
}

Test(turn, waiting_ends_at_the_timeout) {
    expect("pack", 10,
           "@0 +1(8,2) +2(8,2)t50\n"
           "@49 .\n"
           "@50 .\n"
           "@51 -2\n",
           "@0 lane 0=2, admit 1@0, arm 50\n"
           "@49\n"
           "@50 refuse 2 TIMEOUT\n"
           "@51\n");
}

/* The large job is overtaken twice, then its place in the queue is kept. */
Test(turn, nobody_is_overtaken_for_ever) {
    struct sched *s = make(
        (struct policy_config){.lane = "pack", .overtakes = 2, .exclusive = -1, .swap = -1}, 10);
    SCHEDTRACE_EXPECT(s,
                      "@0 +1(4,0) +2(8,0)\n"
                      "@1 +3(2,0)\n"
                      "@2 +4(2,0)\n"
                      "@3 +5(2,0)\n"
                      "@4 -1\n"
                      "@5 -3\n"
                      "@6 -4\n",
                      "@0 admit 1@0\n"
                      "@1 admit 3@1\n"
                      "@2 admit 4@2\n"
                      "@3\n"
                      "@4\n"
                      "@5 admit 2@0\n"
                      "@6 admit 5@1\n");
    sched_destroy(s);
}

Test(turn, fifo_admits_in_order) {
    expect("fifo", 10,
           "@0 +1(4,0) +2(8,0) +3(2,0)\n"
           "@1 -1\n",
           "@0 admit 1@0\n"
           "@1 admit 2@0, admit 3@1\n");
}

/* On a device of 100, an eighth is reserved for each job that uses less. */
Test(turn, jobs_of_unknown_needs_are_measured_side_by_side_on_what_they_use) {
    expect("fair", 100,
           "@0 +1(?) +2(?) +3(4,4)\n"
           "@1 1?30,20\n"
           "@2 1?60,50\n"
           "@3 2?10,10\n"
           "@4 1!30,10 2!10,10\n",
           "@0 admit 1@0, admit 2@1, lane 2=4, admit 3@2, arm 10000\n"
           "@1 lane 0=20, grant 1\n"
           "@2 deny 1\n"
           "@3 lane 1=10, grant 2\n"
           "@4\n");
}

/* During a lease, job 1 keeps a claim to the unused part of its eighth, 12, and job 4 wants as
 * much for itself. */
Test(turn, a_part_is_kept_for_jobs_of_unknown_needs) {
    expect("fair", 100,
           "@0 +1(?) +2(90,0) +3(70,0) +4(?)\n"
           "@1 1?10,0\n"
           "@2 -3\n"
           "@999 .\n"
           "@1000 .\n",
           "@0 admit 1@0, admit 3@1, admit 4@2, arm 1000\n"
           "@1 grant 1\n"
           "@2\n"
           "@999\n"
           "@1000 admit 2@1, arm 10000\n");
}

Test(turn, one_of_unknown_needs_has_the_device_to_itself_where_nobody_else_comes) {
    expect("fair", 100, "@0 +1(?)\n@1 1?60,40\n@2 +2(?)\n",
           "@0 admit 1@0, arm 10000\n@1 lane 0=40, grant 1\n@2\n");
}

/* A job without a completed iteration is measured as it is; from then on it may be swapped. */
Test(turn, measuring_ends_after_a_while) {
    struct sched *s = make(
        (struct policy_config){
            .lane = "pack", .idle_after_ns = 50, .lease_ns = 100, .exclusive = -1, .swap = -1},
        100);
    SCHEDTRACE_EXPECT(s,
                      "@0 +1(?)u1\n"
                      "@1 1?90,0 +2(50,0)u2\n"
                      "@999 .\n"
                      "@1000 .\n",
                      "@0 admit 1@0, arm 1000\n"
                      "@1 grant 1, arm 50\n"
                      "@999 arm 1000\n"
                      "@1000 out 1*90, admit 2@1, arm 1050\n");
    sched_destroy(s);
}

/* ---- growing beyond what is free ------------------------------------------------------------- */

Test(turn, one_that_grows_waits_for_what_others_give_back) {
    expect("fair", 20,
           "@0 +1(8,0) +2(8,0)\n"
           "@1 1?16,0w\n"
           "@2 +3(4,0)\n"
           "@3 -2\n",
           "@0 admit 1@0, admit 2@1\n"
           "@1 wait 1, arm 10000000001\n"
           "@2\n"
           "@3 grant 1, admit 3@1\n");
}

Test(turn, one_job_waits_to_grow_and_it_is_the_earliest) {
    expect("fair", 20,
           "@0 +1(8,0) +2(8,0) +3(2,0)\n"
           "@1 2?16,0w\n"
           "@2 1?16,0w\n"
           "@3 3?16,0w\n"
           "@4 -2\n",
           "@0 admit 1@0, admit 2@1, admit 3@2\n"
           "@1 wait 2, arm 10000000001\n"
           "@2 deny 2, wait 1, arm 10000000002\n"
           "@3 deny 3\n"
           "@4 grant 1\n");
}

Test(turn, nobody_waits_for_what_can_never_come_free) {
    expect("fair", 20,
           "@0 +1(8,0)r7 +2(4,0)r7 +3(4,0)\n"
           "@1 1?14,0w\n"
           "@2 3?21,0w\n",
           "@0 admit 1@0, admit 2@1, admit 3@2\n"
           "@1 wait 1, arm 10000000001\n"
           "@2 deny 3\n");
}

/* A process of the same run would not free any memory before this one continues, so it would
 * wait for ever. */
Test(turn, nobody_waits_for_a_process_of_its_own_run) {
    expect("fair", 20,
           "@0 +1(8,0)r7 +2(8,0)r7\n"
           "@1 1?16,0w\n",
           "@0 admit 1@0, admit 2@1\n"
           "@1 deny 1\n");
}

/* Otherwise job 1 would wait for job 2, which waits for its turn. */
Test(turn, nobody_waits_to_grow_under_fifo) {
    expect("fifo", 20, "@0 +1(8,0) +2(8,0)\n@1 1?16,0w\n", "@0 admit 1@0, admit 2@1\n@1 deny 1\n");
}

Test(turn, a_wait_in_vain_ends_and_is_not_tried_again_before_memory_comes_back) {
    struct sched *s = make(
        (struct policy_config){.lane = "fair", .grow_wait_ns = 50, .exclusive = -1, .swap = -1},
        20);
    SCHEDTRACE_EXPECT(s,
                      "@0 +1(8,0) +2(8,0) +3(2,0)\n"
                      "@1 1?16,0w\n"
                      "@50 .\n"
                      "@51 .\n"
                      "@52 1?16,0w\n"
                      "@53 -3\n"
                      "@54 1?16,0w\n"
                      "@55 -1\n",
                      "@0 admit 1@0, admit 2@1, admit 3@2\n"
                      "@1 wait 1, arm 51\n"
                      "@50\n"
                      "@51 deny 1\n"
                      "@52 deny 1\n"
                      "@53\n"
                      "@54 wait 1, arm 104\n"
                      "@55\n");
    sched_destroy(s);
}

/* ---- users ----------------------------------------------------------------------------------- */

/* An admitted job that grows also gets the memory of another user's idle job, however long a lease
 * is. */
Test(turn, the_memory_of_an_idle_job_goes_to_another_users_that_grows) {
    struct sched *s = make(
        (struct policy_config){.lane = "pack", .idle_after_ns = 50, .exclusive = -1, .swap = -1},
        20);
    SCHEDTRACE_EXPECT(s,
                      "@0 +1(16,0)u1 +2(2,0)u2\n"
                      "@1 2?12,0w\n"
                      "@49 .\n"
                      "@50 .\n",
                      "@0 admit 2@0, admit 1@1\n"
                      "@1 wait 2, arm 50\n"
                      "@49\n"
                      "@50 out 1*16, grant 2\n");
    sched_destroy(s);
}

/* No job is swapped otherwise. Job 1 comes back when its memory fits. */
Test(turn, the_memory_of_an_idle_job_goes_to_another_user) {
    struct sched *s = make(
        (struct policy_config){.lane = "pack", .idle_after_ns = 50, .exclusive = -1, .swap = -1},
        20);
    SCHEDTRACE_EXPECT(s,
                      "@0 +1(16,0)u1\n"
                      "@1 +2(8,0)u1 +3(8,0)u2\n"
                      "@49 .\n"
                      "@50 .\n"
                      "@51 1^\n"
                      "@52 -3\n",
                      "@0 admit 1@0\n"
                      "@1 arm 50\n"
                      "@49\n"
                      "@50 out 1*16, admit 3@1, admit 2@2, arm 100\n"
                      "@51\n"
                      "@52\n");
    sched_destroy(s);
}

Test(turn, the_memory_of_a_job_at_work_is_nobody_elses) {
    struct sched *s = make(
        (struct policy_config){.lane = "pack", .idle_after_ns = 50, .exclusive = -1, .swap = -1},
        20);
    SCHEDTRACE_EXPECT(s,
                      "@0 +1(16,0)u1\n"
                      "@1 1:10 +3(8,0)u2\n"
                      "@55 +4(9,0)u3\n"
                      "@60 1=10 1|\n"
                      "@109 .\n"
                      "@110 .\n",
                      "@0 admit 1@0\n"
                      "@1 switch 1, run 1:10\n"
                      "@55\n"
                      "@60 arm 110\n"
                      "@109\n"
                      "@110 out 1*16, admit 3@1, admit 4@2, arm 160\n");
    sched_destroy(s);
}

/* Job 3 came first, and would exceed half of the memory for its user. */
Test(turn, beyond_its_part_a_user_waits_for_another_one) {
    struct sched *s = make(
        (struct policy_config){.lane = "fair", .overtakes = 2, .exclusive = -1, .swap = -1}, 20);
    SCHEDTRACE_EXPECT(s,
                      "@0 +1(8,0)u1 +2(8,0)u1\n"
                      "@1 +3(4,0)u1 +4(8,0)u2\n"
                      "@2 -1\n"
                      "@3 -4\n",
                      "@0 admit 1@0, admit 2@1\n"
                      "@1 arm 60000000000\n"
                      "@2 admit 4@0, admit 3@2\n"
                      "@3\n");
    sched_destroy(s);
}

/* A job that was overtaken `overtakes` times no longer yields: job 4 has overtaken job 3. */
Test(turn, who_was_overtaken_often_enough_waits_for_no_other_user) {
    struct sched *s = make(
        (struct policy_config){.lane = "fair", .overtakes = 1, .exclusive = -1, .swap = -1}, 20);
    SCHEDTRACE_EXPECT(s,
                      "@0 +1(8,0)u1 +2(8,0)u2\n"
                      "@1 +3(6,0)u1\n"
                      "@2 +4(2,0)u2\n"
                      "@3 +5(5,0)u3\n"
                      "@4 -2\n",
                      "@0 admit 1@0, admit 2@1\n"
                      "@1 arm 60000000000\n"
                      "@2 admit 4@2\n"
                      "@3\n"
                      "@4 admit 3@1\n");
    sched_destroy(s);
}

/* ---- runs ------------------------------------------------------------------------------------ */

Test(turn, processes_of_a_run_are_admitted_with_the_first_or_refused) {
    expect("fair", 20,
           "@0 +1(16,0)\n"
           "@1 +2(8,0)r7 +3(8,0)r7 +4(8,0)r7\n"
           "@2 -1\n"
           "@3 +5(8,0)r7 +6(8,0)r7u1\n"
           "@4 -2\n",
           "@0 admit 1@0\n"
           "@1\n"
           "@2 admit 2@0, admit 3@1, refuse 4 RUN\n"
           "@3 refuse 5 RUN, arm 60000000002\n"
           "@4 admit 6@0\n");
}

/* Each process begins without memory, however little is free beside them. */
Test(turn, processes_of_a_run_begin_beside_one_another_at_once) {
    expect("fair", 20,
           "@0 +1(?)r7\n"
           "@1 1?20,0\n"
           "@2 +2(?)r7 +3(?)\n",
           "@0 admit 1@0, arm 10000\n"
           "@1 grant 1\n"
           "@2 admit 2@1, arm 1002\n");
}

Test(turn, a_started_job_is_granted_under_the_condition_or_denied_at_once) {
    expect("fair", 20,
           "@0 +1(4,4) +2(4,4)\n"
           "@1 1?6,5\n"
           "@2 1?6,8\n"
           "@3 -2\n"
           "@4 1?6,8\n",
           "@0 lane 0=4, admit 1@0, lane 1=4, admit 2@1\n"
           "@1 lane 0=5, grant 1\n"
           "@2 deny 1\n"
           "@3 lane 1=0\n"
           "@4 lane 0=8, grant 1\n");
}

/* Salus, Fig. 7: when the small job stops, its lane's space is reclaimed at the boundary. */
Test(turn, a_lane_shrinks_at_the_boundary_and_the_pending_are_looked_at) {
    expect("fair", 20,
           "@0 +1(1,12) +2(1,4)g1 +3(1,8)g1\n"
           "@1 2:20\n"
           "@2 -1\n"
           "@3 2=20 2|\n",
           "@0 lane 0=12, admit 1@0, lane 1=4, admit 2@1, admit 3@0\n"
           "@1 switch 2, run 2:20\n"
           "@2 lane 0=8\n"
           "@3\n");
}

/* Section 3.3.2, third bullet: lanes are merged so that another job fits. */
Test(turn, lanes_are_merged_at_boundaries_for_one_that_waits) {
    expect("fair", 20,
           "@0 +1(1,8) +2(1,6)\n"
           "@1 1:10 2:20\n"
           "@2 +3(8,2)\n"
           "@3 2=20 2|\n",
           "@0 lane 0=8, admit 1@0, lane 1=6, admit 2@1\n"
           "@1 switch 1, switch 2, run 1:10, run 2:20\n"
           "@2\n"
           "@3 move 2@0, lane 1=0, lane 1=2, admit 3@1\n");
}

/* ---- leases ---------------------------------------------------------------------------------- */

Test(turn, a_holder_without_a_boundary_loses_its_turn_when_idle) {
    expect("fair", 10,
           "@0 +1(1,6) +2(1,6)\n"
           "@1 1:10 2:20\n"
           "@1000 .\n"
           "@1001 .\n"
           "@1002 1:11\n"
           "@1003 1=10\n"
           "@1004 2=20*9 2|\n",
           "@0 lane 0=6, admit 1@0, admit 2@0\n"
           "@1 switch 1, run 1:10, arm 1001\n"
           "@1000\n"
           "@1001\n"
           "@1002\n"
           "@1003 spill 1, switch 2, run 2:20, arm 2003\n"
           "@1004 restore 1, switch 1, run 1:11\n");
}

static void expect_lease(uint64_t lease_ns, const char *script, const char *trace) {
    struct sched *s = make(
        (struct policy_config){.lane = "fair", .exclusive = -1, .swap = -1, .lease_ns = lease_ns},
        10);
    SCHEDTRACE_EXPECT(s, script, trace);
    sched_destroy(s);
}

Test(turn, a_lease_is_ten_learned_iterations) {
    expect_lease(1000000000,
                 "@0 +1(1,6)\n"
                 "@10000000 1:10\n"
                 "@20000000 1=10 1| 1:11/1\n"
                 "@21000000 +2(1,6) 2:20\n"
                 "@119999999 .\n"
                 "@120000000 .\n"
                 "@121000000 1=11\n",
                 "@0 lane 0=6, admit 1@0\n"
                 "@10000000 switch 1, run 1:10\n"
                 "@20000000 run 1:11\n"
                 "@21000000 admit 2@0, arm 120000000\n"
                 "@119999999\n"
                 "@120000000\n"
                 "@121000000 spill 1, switch 2, run 2:20\n");
}

Test(turn, a_lease_of_short_iterations_is_ten_milliseconds) {
    expect_lease(1000000000,
                 "@0 +1(1,6) +2(1,6)\n"
                 "@10 1:10\n"
                 "@20 1=10*10 1| 1:11/1\n"
                 "@30 2:20\n"
                 "@10000019 .\n"
                 "@10000020 .\n"
                 "@10000030 1=11*10\n",
                 "@0 lane 0=6, admit 1@0, admit 2@0\n"
                 "@10 switch 1, run 1:10\n"
                 "@20 run 1:11\n"
                 "@30 arm 10000020\n"
                 "@10000019\n"
                 "@10000020\n"
                 "@10000030 spill 1, switch 2, run 2:20\n");
}

/* The job's second iteration is complete, but its boundary is not reported yet. The lease would
 * last for ten milliseconds, but the job is idle. */
Test(turn, a_short_iteration_is_given_a_moment_for_its_boundary) {
    expect_lease(1000000000,
                 "@0 +1(1,6) +2(1,6)\n"
                 "@10 1:10\n"
                 "@20 1=10 1| 1:11/1\n"
                 "@21 1=11*1+8 2:20\n"
                 "@1000021 1| 1:12/2\n"
                 "@1000022 2=20*9 2|\n",
                 "@0 lane 0=6, admit 1@0, admit 2@0\n"
                 "@10 switch 1, run 1:10\n"
                 "@20 run 1:11\n"
                 "@21 arm 1000022\n"
                 "@1000021 switch 2, run 2:20\n"
                 "@1000022 switch 1, run 1:12\n");
}

Test(turn, the_lease_of_a_short_iteration_is_no_longer_than_that_of_an_unknown_one) {
    expect_lease(1000,
                 "@0 +1(1,6) +2(1,6)\n"
                 "@10 1:10\n"
                 "@20 1=10 1| 1:11/1\n"
                 "@21 1=11*1+6 2:20\n"
                 "@1020 .\n",
                 "@0 lane 0=6, admit 1@0, admit 2@0\n"
                 "@10 switch 1, run 1:10\n"
                 "@20 run 1:11\n"
                 "@21 arm 1020\n"
                 "@1020 spill 1, switch 2, run 2:20\n");
}

/* ---- idle holders ---------------------------------------------------------------------------- */

/* A server that waits for its next request has no memory in the lane, so nothing is copied. Its
 * next operation waits for a turn like any other. */
Test(turn, an_idle_job_holds_nothing) {
    expect_lease(1000000000,
                 "@0 +1(1,6) +2(1,6)\n"
                 "@10 1:10\n"
                 "@20 1=10*10\n"
                 "@500 2:20\n"
                 "@50019 .\n"
                 "@50020 .\n"
                 "@50030 1:11\n"
                 "@50040 2=20*5 2|\n",
                 "@0 lane 0=6, admit 1@0, admit 2@0\n"
                 "@10 switch 1, run 1:10\n"
                 "@20\n"
                 "@500 arm 50020\n"
                 "@50019\n"
                 "@50020 switch 2, run 2:20\n"
                 "@50030 arm 1000050020\n"
                 "@50040 switch 1, run 1:11\n");
}

/* The job has worked for 10 ms without a boundary, so each time its host waits counts as one. */
Test(turn, a_job_without_boundaries_gives_way_at_once) {
    expect_lease(1000000000,
                 "@0 +1(1,6) +2(1,6)\n"
                 "@10 1:10 2:20\n"
                 "@20 1=10*10000000\n"
                 "@1020 .\n",
                 "@0 lane 0=6, admit 1@0, admit 2@0\n"
                 "@10 switch 1, run 1:10, arm 1000000010\n"
                 "@20 arm 1020\n"
                 "@1020 switch 2, run 2:20\n");
}

/* The job usually comes back within a millisecond, but the other one has been served less. */
Test(turn, an_idle_job_is_not_waited_for_by_one_that_ranks_first) {
    expect_lease(1000000000,
                 "@0 +1(1,6) +2(1,6)\n"
                 "@10 1:10\n"
                 "@20 1=10*4000000\n"
                 "@30 1:11\n"
                 "@40 1=11*4000000 1| 1:12/1\n"
                 "@50 1=12*1000 2:20\n"
                 "@50050 .\n",
                 "@0 lane 0=6, admit 1@0, admit 2@0\n"
                 "@10 switch 1, run 1:10\n"
                 "@20\n"
                 "@30 run 1:11\n"
                 "@40 run 1:12\n"
                 "@50 arm 50050\n"
                 "@50050 switch 2, run 2:20\n");
}

/* The job reports boundaries and ranks before the other one: its host computes within an
 * iteration. */
Test(turn, a_job_that_ranks_first_is_idle_for_a_moment) {
    struct sched *s = make(
        (struct policy_config){.lane = "pack", .exclusive = -1, .swap = -1, .lease_ns = 1000000000},
        10);
    SCHEDTRACE_EXPECT(s,
                      "@0 +1(1,6) +2(1,6)\n"
                      "@10 1:10\n"
                      "@20 1=10*10 1| 1:11/1\n"
                      "@30 1=11*10\n"
                      "@500 2:20\n"
                      "@1000029 .\n"
                      "@1000030 .\n",
                      "@0 lane 0=6, admit 1@0, admit 2@0\n"
                      "@10 switch 1, run 1:10\n"
                      "@20 run 1:11\n"
                      "@30\n"
                      "@500 arm 1000030\n"
                      "@1000029\n"
                      "@1000030 switch 2, run 2:20\n");
    sched_destroy(s);
}

/* The job has long been idle when another one arrives, which gets the turn at once. */
Test(turn, a_job_that_has_long_been_idle_leaves_at_once) {
    expect_lease(1000000000,
                 "@0 +1(1,6) +2(1,6)\n"
                 "@10 1:10\n"
                 "@20 1=10\n"
                 "@5000000 2:20\n",
                 "@0 lane 0=6, admit 1@0, admit 2@0\n"
                 "@10 switch 1, run 1:10\n"
                 "@20\n"
                 "@5000000 switch 2, run 2:20\n");
}

/* Copying 8 MB of the lane out and back takes another millisecond. */
Test(turn, an_idle_job_with_memory_in_its_lane_keeps_it_for_as_long_as_copying_takes) {
    expect_lease(1000000000,
                 "@0 +1(1,6) +2(1,6)\n"
                 "@10 1:10 2:20\n"
                 "@20 1=10*10+8000000\n"
                 "@1000020 .\n"
                 "@2000020 .\n",
                 "@0 lane 0=6, admit 1@0, admit 2@0\n"
                 "@10 switch 1, run 1:10, arm 1000000010\n"
                 "@20 arm 2000020\n"
                 "@1000020\n"
                 "@2000020 spill 1, switch 2, run 2:20\n");
}

/* Job 1 used 10 ns and held the turn for 400 more while job 2 waited for it; job 2 used 300. */
Test(turn, holding_a_turn_without_work_counts_as_service) {
    expect_lease(1000000000,
                 "@0 +1(1,6) +2(1,6)\n"
                 "@10 1:10 2:20\n"
                 "@20 1=10*10+8\n"
                 "@420 1:11\n"
                 "@430 1=11*10 1| 1:12/1\n"
                 "@730 2=20*300 2| 2:21/1\n",
                 "@0 lane 0=6, admit 1@0, admit 2@0\n"
                 "@10 switch 1, run 1:10, arm 1000000010\n"
                 "@20 arm 1000021\n"
                 "@420 run 1:11\n"
                 "@430 switch 2, run 2:20\n"
                 "@730 run 2:21\n");
}

Test(turn, in_different_lanes_nobody_spills) {
    struct sched *s = make((struct policy_config){.lane = "fair", .exclusive = 1, .swap = -1}, 20);
    SCHEDTRACE_EXPECT(s,
                      "@0 +1(1,6) +2(1,6)\n"
                      "@1 1:10 2:20\n"
                      "@2 1=10*1+8\n"
                      "@1001 .\n"
                      "@1002 1:11 2=20 2|\n",
                      "@0 lane 0=6, admit 1@0, lane 1=6, admit 2@1\n"
                      "@1 switch 1, run 1:10, arm 1001\n"
                      "@2\n"
                      "@1001 switch 2, run 2:20\n"
                      "@1002 run 1:11\n");
    sched_destroy(s);
}

/* ---- swap ------------------------------------------------------------------------------------ */

Test(turn, srtf_swaps_a_longer_job_out_for_a_shorter_one) {
    struct sched *s = make((struct policy_config){.lane = "srtf", .exclusive = -1, .swap = 1}, 10);
    SCHEDTRACE_EXPECT(s,
                      "@0 +1(6,2)d1000\n"
                      "@1 1:10 1:11/1\n"
                      "@2 +2(5,4)d50 2:20\n"
                      "@3 1=10*100 1|\n"
                      "@4 2=20*50 2| -2\n",
                      "@0 lane 0=2, admit 1@0\n"
                      "@1 switch 1, run 1:10\n"
                      "@2\n"
                      "@3 out 1*6, lane 0=0, lane 1=4, admit 2@1, switch 2, run 2:20\n"
                      "@4 lane 1=0, lane 0=2, in 1*6, switch 1, run 1:11\n");
    sched_destroy(s);
}

Test(turn, who_is_fixed_stays_where_it_is) {
    struct sched *s = make((struct policy_config){.lane = "srtf", .exclusive = -1, .swap = 1}, 10);
    SCHEDTRACE_EXPECT(s,
                      "@0 +1(6,2)d1000\n"
                      "@1 1:10 1:11/1 1&\n"
                      "@2 +2(5,4)d50 2:20\n"
                      "@3 1=10*100 1|\n"
                      "@4 1=11 1| -1\n",
                      "@0 lane 0=2, admit 1@0\n"
                      "@1 switch 1, run 1:10\n"
                      "@2\n"
                      "@3 run 1:11\n"
                      "@4 lane 0=0, lane 0=4, admit 2@0, switch 2, run 2:20\n");
    sched_destroy(s);
}

/* None of them gets any service, so none ranks behind another. */
Test(turn, who_only_holds_memory_makes_room_within_a_lease) {
    struct sched *s = make((struct policy_config){.lane = "fair", .exclusive = -1, .swap = 1}, 10);
    SCHEDTRACE_EXPECT(s,
                      "@0 +1(4,1)\n"
                      "@1 1:10\n"
                      "@2 1=10\n"
                      "@3 +2(4,1)u1\n"
                      "@500 +3(4,1)u2\n"
                      "@1002 .\n",
                      "@0 lane 0=1, admit 1@0\n"
                      "@1 switch 1, run 1:10\n"
                      "@2\n"
                      "@3 lane 1=1, admit 2@1\n"
                      "@500 arm 1002\n"
                      "@1002 spill 1, out 1*4, lane 0=0, lane 2=1, admit 3@2, arm 1003\n");
    sched_destroy(s);
}

/* The job comes back once it has work; until then no other job is swapped out for it. */
Test(turn, who_was_idle_comes_back_for_another_idle_one) {
    struct sched *s = make((struct policy_config){.lane = "fair", .exclusive = -1, .swap = 1}, 10);
    SCHEDTRACE_EXPECT(
        s,
        "@0 +1(4,1) +2(4,1)u1\n"
        "@1 1:10\n"
        "@2 1=10\n"
        "@3 2:20\n"
        "@500 2=20 +3(4,1)u2\n"
        "@1002 .\n"
        "@9000 .\n"
        "@9001 3:30 1^\n"
        "@9002 1:11\n",
        "@0 lane 0=1, admit 1@0, lane 1=1, admit 2@1\n"
        "@1 switch 1, run 1:10\n"
        "@2\n"
        "@3 switch 2, run 2:20\n"
        "@500 arm 1002\n"
        "@1002 spill 1, out 1*4, lane 0=0, lane 2=1, admit 3@2, arm 1500\n"
        "@9000\n"
        "@9001 spill 2, out 2*4, lane 1=0, lane 0=1, in 1*4, switch 3, run 3:30, arm 10001\n"
        "@9002 restore 1, switch 1, run 1:11\n");
    sched_destroy(s);
}

/* A job without its memory cannot submit work, so it does not count as idle. */
Test(turn, who_waits_for_its_memory_is_not_idle) {
    struct sched *s = make((struct policy_config){.lane = "fair", .exclusive = -1, .swap = 1}, 10);
    SCHEDTRACE_EXPECT(s,
                      "@0 +1(4,1) +2(4,1)u1\n"
                      "@3 2:20\n"
                      "@500 +3(4,1)u2\n"
                      "@900 1~\n"
                      "@1002 1~\n"
                      "@2001 .\n"
                      "@2002 .\n",
                      "@0 lane 0=1, admit 1@0, lane 1=1, admit 2@1\n"
                      "@3 switch 2, run 2:20\n"
                      "@500 arm 1000\n"
                      "@900\n"
                      "@1002 arm 2002\n"
                      "@2001\n"
                      "@2002 out 1*4, lane 0=0, lane 2=1, admit 3@2, arm 3002\n");
    sched_destroy(s);
}

Test(turn, who_is_idle_and_of_higher_priority_stays) {
    struct sched *s = make((struct policy_config){.lane = "fair", .exclusive = -1, .swap = 1}, 10);
    SCHEDTRACE_EXPECT(s,
                      "@0 +1(8,2)h1\n"
                      "@1 +2(4,1)u1\n"
                      "@1000 .\n"
                      "@9000 .\n",
                      "@0 lane 0=2, admit 1@0\n"
                      "@1 arm 1000\n"
                      "@1000\n"
                      "@9000\n");
    sched_destroy(s);
}

Test(turn, without_swap_the_shorter_one_waits) {
    expect("srtf", 10,
           "@0 +1(6,2)d1000\n"
           "@1 1:10 1:11/1\n"
           "@2 +2(5,4)d50 2:20\n"
           "@3 1=10*100 1|\n",
           "@0 lane 0=2, admit 1@0\n"
           "@1 switch 1, run 1:10\n"
           "@2\n"
           "@3 run 1:11\n");
}

/* ---- operators ------------------------------------------------------------------------------- */

Test(turn, a_paused_job_starts_nothing_and_goes_on_where_it_was) {
    expect("fair", 10,
           "@0 +1(1,6) +2(1,6)\n"
           "@1 1:10 1:11\n"
           "@2 1%p 1:12 2:20\n"
           "@3 1=10 1=11\n"
           "@4 2=20 2|\n"
           "@5 1%w1\n",
           "@0 lane 0=6, admit 1@0, admit 2@0\n"
           "@1 switch 1, run 1:10, run 1:11\n"
           "@2\n"
           "@3 spill 1, switch 2, run 2:20\n"
           "@4\n"
           "@5 restore 1, switch 1, run 1:12\n");
}

Test(turn, the_policy_changes_live_and_loses_nothing) {
    struct sched *s = make((struct policy_config){.lane = "fifo", .exclusive = -1, .swap = -1}, 20);
    SCHEDTRACE_EXPECT(s,
                      "@0 +1(1,6) +2(1,6) +3(1,6)\n"
                      "@1 1:10 2:20 3:30\n"
                      "@2 policy(lane=pack,inflight_cap=16)\n"
                      "@3 1=10 1|\n"
                      "@3 policy(lane=fifo,inflight_cap=16)\n"
                      "@4 1:11/1\n"
                      "@5 2=20\n"
                      "@6 3=30\n",
                      "@0 lane 0=6, admit 1@0, lane 1=6, admit 2@1, admit 3@0\n"
                      "@1 switch 1, run 1:10\n"
                      "@2 switch 2, run 2:20, arm 1000000001\n"
                      "@3 switch 3, run 3:30\n"
                      "@3\n"
                      "@4\n"
                      "@5\n"
                      "@6\n");
    sched_destroy(s);
}

/* The last configuration counts; an invalid one is rejected, and changes nothing. */
Test(turn, of_several_configurations_in_a_step_the_last_valid_one_counts) {
    struct sched *s = make((struct policy_config){.lane = "fifo", .exclusive = -1, .swap = -1}, 20);
    SCHEDTRACE_EXPECT(s,
                      "@0 policy(lane=pack) policy(lane=srtf,overtakes=3) policy(lane=lottery)\n",
                      "@0 reject 0 policy: there is no such policy, or a number is out of range\n");
    cr_expect_str_eq(sched_policy_config(s)->lane, "srtf");
    cr_expect_eq(sched_policy_config(s)->overtakes, 3);
    sched_destroy(s);
}

Test(turn, a_parameter_out_of_range_is_refused_with_a_reason) {
    static const struct {
        struct policy_config policy;
        const char *why;
    } cases[] = {
        {{.lane = "lottery"}, "no lane policy lottery"},
        {{.kernel = "lottery"}, "no kernel policy lottery"},
        {{.exclusive = 2}, "exclusive: not yes, no or auto"},
        {{.swap = 2}, "swap: not yes or no"},
        {{.lease_factor = 1001}, "lease_factor: 1001 is not from 1 to 1000"},
        {{.lease_ns = 3600000000001}, "lease: 3600000000001ns is not from 1ms to 60min"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sched *s;
        char why[160] = "";
        struct sched_config config = {.policy = cases[i].policy};
        cr_expect_eq(sched_create(&s, &config, why, sizeof(why)), -EINVAL);
        cr_expect_null(s);
        cr_expect(strstr(why, cases[i].why), "case %zu: %s", i, why);
    }
}

/* ---- invalid calls --------------------------------------------------------------------------- */

Test(turn, events_out_of_order_are_refused) {
    expect("fair", 10,
           "@0 +1(1,6) 1:10\n"
           "@1 1|\n"
           "@2 1:11/2\n"
           "@3 1=10 1|\n"
           "@4 1:12\n",
           "@0 lane 0=6, admit 1@0, switch 1, run 1:10\n"
           "@1 reject 1 boundary: the job is not admitted, or within an iteration\n"
           "@2 reject 1 submitted: it belongs to neither the current iteration nor the next\n"
           "@3\n"
           "@4 reject 1 submitted: it belongs to neither the current iteration nor the next\n");
}

/* ---- the board ------------------------------------------------------------------------------- */

Test(turn, the_view_has_reasons_and_places) {
    struct sched *s = make((struct policy_config){.lane = "fair", .exclusive = -1, .swap = -1}, 10);
    struct sched_job_view v;
    struct sched_lane_view lane;
    free(schedtrace_run(s, "@0 +1(2,6) +2(2,6) +3(8,0) +4(8,0) +5(20,0)\n"
                           "@6 1:10 1:11 2:20\n"
                           "@7 1=10*5\n"));
    cr_assert(sched_job(s, 1, &v));
    cr_expect(v.turn && v.lane == 0 && v.why == SCHED_WHY_NONE && v.busy_ns == 5);
    cr_expect(v.persistent_bytes == 2 && v.ephemeral_bytes == 6 && v.position == 0);
    cr_assert(sched_job(s, 2, &v));
    cr_expect(!v.turn && v.lane == 0 && v.why == SCHED_WHY_TURN);
    cr_assert(sched_job(s, 4, &v));
    cr_expect(v.lane == SCHED_NO_LANE && v.why == SCHED_WHY_MEMORY && v.position == 2);
    cr_expect_eq(v.waited_ns, 7);
    cr_assert(sched_job(s, 5, &v));
    cr_expect(v.why == SCHED_WHY_TOO_LARGE && v.position == 0);
    cr_expect_not(sched_job(s, 6, &v));
    cr_assert_eq(sched_lanes(s, &lane, 1), 1);
    cr_expect(lane.lane == 0 && lane.bytes == 6 && lane.jobs == 2 && lane.holder == 1);
    cr_expect_eq(lane.busy_ns, 5);
    sched_destroy(s);
}

static uint32_t demand(const struct sched *s, uint32_t job) {
    struct sched_job_view v;
    cr_assert(sched_job(s, job, &v));
    return v.demand_milli;
}

static uint32_t of_iterations(const struct sched *s, uint32_t job) {
    struct sched_job_view v;
    cr_assert(sched_job(s, job, &v));
    return v.iteration_milli;
}

Test(turn, what_a_job_leaves_idle_is_measured_while_no_other_has_a_turn) {
    struct sched *s =
        make((struct policy_config){.lane = "pack", .exclusive = -1, .swap = -1}, 100);
    free(schedtrace_run(s, "@0 +1(2,6) +2(2,6)\n"
                           "@10 1:10 2:20\n"
                           "@50 1=10*5 1|\n"
                           "@90 2=20*5 2|\n"));
    cr_expect_eq(demand(s, 1), 0);
    cr_expect_eq(demand(s, 2), 0, "job 1 had a turn while 2 had");
    cr_expect_eq(of_iterations(s, 2), 0);
    free(schedtrace_run(s, "@100 1:11/1\n"
                           "@180 1=11*20 1|\n" /* a quarter of its 80 ns */
                           "@200 1:12/2\n"
                           "@210 2:21/1\n" /* another job arrives during its turn */
                           "@220 2=21*10 2|\n"
                           "@300 1=12*100 1|\n"));
    cr_expect_eq(of_iterations(s, 1), 250);
    cr_expect_eq(demand(s, 1), 1000 * 20 / 130, "50 ns of its host are before them");
    cr_expect_eq(demand(s, 2), 0);
    free(schedtrace_run(s, "@300 2:22/2\n"
                           "@400 2=22*300 2|\n"));
    cr_expect_eq(of_iterations(s, 2), 1000, "more than all is all");
    sched_destroy(s);
}

/* Job 1 works 10 ns on the device, in iterations whose first operation comes late. */
Test(turn, the_host_before_an_iteration_counts_for_the_demand) {
    struct sched *s = make((struct policy_config){.lane = "fair", .exclusive = -1, .swap = -1}, 10);
    free(schedtrace_run(
        s, "@0 +1(1,6) +2(1,6)\n"
           "@1000 1:10\n"
           "@1010 1=10*10 1|\n")); /* the time before the first operation is start-up time */
    cr_expect_eq(demand(s, 1), 1000);
    free(schedtrace_run(s, "@1100 1:11/1\n"
                           "@1110 1=11*10 1|\n"));
    cr_expect_eq(demand(s, 1), 1000 * 20 / 110);
    cr_expect_eq(of_iterations(s, 1), 1000);
    free(schedtrace_run(s, "@1150 2:20\n"
                           "@1210 1:12/2\n" /* 100 ns of the job's host, then 90 of the other job */
                           "@1300 2=20*90 2|\n"
                           "@1310 1=12*10 1|\n"));
    cr_expect_eq(demand(s, 1), 1000 * 30 / 220, "who waits for a turn leaves nothing idle");
    free(schedtrace_run(s, "@1320 1|\n" /* an empty iteration: its time counts for the next one */
                           "@1410 1:13/4\n"
                           "@1420 1=13*10 1|\n"));
    cr_expect_eq(demand(s, 1), 1000 * 40 / 330);
    cr_expect_eq(of_iterations(s, 1), 1000);
    sched_destroy(s);
}

/* Operations that were submitted ahead were pending at the boundary. */
Test(turn, who_sends_ahead_has_no_time_before_its_iterations) {
    struct sched *s = make((struct policy_config){.lane = "fair", .exclusive = -1, .swap = -1}, 10);
    free(schedtrace_run(s, "@0 +1(1,6)\n"
                           "@10 1:10 1:11/1\n"
                           "@20 1=10*10 1|\n"
                           "@30 1=11*10 1|\n"));
    cr_expect_eq(demand(s, 1), 1000);
    sched_destroy(s);
}

/* If a turn continues over boundaries, it includes the host's time once. */
Test(turn, the_host_counts_once_where_turns_go_on) {
    struct sched *s = make((struct policy_config){.lane = "fifo", .exclusive = -1, .swap = -1}, 10);
    free(schedtrace_run(s, "@0 +1(1,6)\n"
                           "@10 1:10\n"
                           "@20 1=10*10 1|\n"
                           "@50 1:11/1\n"
                           "@60 1=11*10 1|\n"));
    cr_expect_eq(demand(s, 1), 1000 * 20 / 50);
    cr_expect_eq(of_iterations(s, 1), 1000 * 20 / 50);
    sched_destroy(s);
}
