/* SPDX-License-Identifier: Apache-2.0
 *
 * A cluster in virtual time, compared with times computed by hand.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "daemon/sim/place/fleet_run.h"
#include "test/lib/place/fleet_rig.h"

#define S 1000000000ll

static struct jobset set;
static struct fleet_rules rules;
static struct fleet_rig *rig;
static struct fleet_result r;

static void begin(uint32_t gpus, uint32_t limit) {
    fleet_rig_nodes(&set, gpus, 10);
    rules = (struct fleet_rules){.curve = {.a2 = 1}};
    rig = calloc(1, sizeof(*rig));
    cr_assert(rig);
    rig->limit = limit;
}

static struct jobset_job *job(double arrival_s, double length_s, double util) {
    struct jobset_job j = {.arrival_s = arrival_s,
                           .length_s = length_s,
                           .tasks = 1,
                           .gpus = 1,
                           .slo = 1,
                           .is = {.util = util}};
    cr_assert_eq(jobset_add_job(&set, &j), 0);
    return &set.jobs[set.job_count - 1];
}

static struct jobset_job *service(double arrival_s, double length_s, double util, double slo) {
    struct jobset_job *j = job(arrival_s, length_s, util);
    j->service = true;
    j->slo = slo;
    return j;
}

static void run(void) {
    char why[FLEET_WHY_BYTES];
    struct fleet_placer placer = fleet_rig_placer(rig);
    int err = fleet_run(&set, &rules, &placer, &r, why);
    cr_assert_eq(err, 0, "%s", why);
}

static void over(void) {
    fleet_result_finish(&r);
    jobset_finish(&set);
    free(rig);
}

/* A job of ten seconds, and one of twenty that arrives at five. */
Test(fleet_world, one_gpu_takes_one_after_the_other) {
    begin(1, 1);
    job(0, 10, 0.5);
    job(5, 20, 1);
    run();
    cr_expect_float_eq(r.makespan_s, 30, 1e-6);
    cr_expect_float_eq(r.wait_s.mean, 2.5, 1e-6);
    cr_expect_float_eq(r.wait_s.median, 2.5, 1e-6);
    cr_expect_float_eq(r.wait_s.deviation, sqrt(12.5), 1e-6);
    cr_expect_float_eq(r.jct_s.mean, 15, 1e-6);
    cr_expect_float_eq(r.slowdown.mean, 1, 1e-6);
    cr_expect_float_eq(r.used_gpus, 1, 1e-9);
    cr_expect_float_eq(r.util, 25 / 30.0, 1e-9);
    cr_expect_eq(r.ended, 2);
    cr_expect_eq(r.starts, 2);
    over();
}

/* Demand of 1.6 GPUs: the square of 0.6 more time, for as long as both jobs run. */
Test(fleet_world, the_curve_slows_down_who_share) {
    begin(1, 2);
    job(0, 10, 0.8);
    job(5, 10, 0.8);
    run();
    cr_expect_float_eq(r.jct_s.mean, (11.8 + 11.8) / 2, 1e-6);
    cr_expect_float_eq(r.makespan_s, 16.8, 1e-6);
    cr_expect_float_eq(r.slowdown.median, 1.18, 1e-6);
    cr_expect_float_eq(r.util, (0.8 * 5 + 6.8 + 0.8 * 5) / 16.8, 1e-9, "a GPU is busy once");
    over();
}

Test(fleet_world, who_fits_together_is_not_slowed_down) {
    begin(1, 2);
    job(0, 10, 0.5);
    job(0, 20, 0.5);
    rules.curve = (struct place_curve){1, 1, 1};
    run();
    cr_expect_float_eq(r.slowdown.mean, 1, 1e-9);
    over();
}

/* Four jobs of 0.75: x = 2. The square is 4; with a straight line from 1 on, 1 + 2. */
Test(fleet_world, beyond_what_was_measured_the_curve_may_go_on_straight) {
    for (int straight = 0; straight < 2; straight++) {
        begin(1, 4);
        for (int i = 0; i < 4; i++)
            job(0, 10, 0.75);
        rules.tangent_from = straight;
        run();
        cr_expect_float_eq(r.makespan_s, straight ? 40 : 50, 1e-6);
        over();
    }
}

Test(fleet_world, a_job_goes_as_fast_as_on_its_slowest_gpu) {
    begin(2, 2);
    job(0, 10, 0.8)->gpus = 2;
    job(0, 5, 0.8);
    run();
    cr_expect_float_eq(r.makespan_s, 6.8 + 5, 1e-6, "5 of its 10 beside the other");
    cr_expect_float_eq(r.work_gpu_s, 25, 1e-6);
    cr_expect_float_eq(r.worked_gpu_s, 25, 1e-6);
    cr_expect_float_eq(r.used_gpus, 2, 1e-9);
    over();
}

/* ---- services -------------------------------------------------------------------------------- */

/* The service may take twice as long, which needs a quarter of the GPU; the training has the
 * rest. */
Test(fleet_world, trainings_get_what_services_leave) {
    begin(1, 2);
    rules.speeds = FLEET_SHARES;
    service(0, 10, 0.5, 2);
    job(0, 30, 1);
    run();
    cr_expect_float_eq(r.makespan_s, 35, 1e-6);
    cr_expect_float_eq(r.jct_s.mean, (20 + 35) / 2.0, 1e-6);
    cr_expect_eq(r.services, 1);
    cr_expect_eq(r.violations, 0);
    over();
}

/* Capacity that the training does not need makes the service faster than required, up to its speed
 * alone. */
Test(fleet_world, services_get_what_trainings_leave) {
    static const struct {
        double service, training, end_s;
    } cases[] = {{0.4, 0.5, 10}, {0.8, 0.5, 16}};
    for (int i = 0; i < 2; i++) {
        begin(1, 2);
        rules.speeds = FLEET_SHARES;
        service(0, 10, cases[i].service, 2);
        job(0, 16, cases[i].training);
        run();
        cr_expect_float_eq(r.jct_s.mean, (cases[i].end_s + 16) / 2, 1e-6);
        over();
    }
}

/* With a factor below 1, the service should be faster than alone. */
Test(fleet_world, services_that_ask_for_too_much_are_late) {
    begin(2, 2);
    rules.speeds = FLEET_SHARES;
    service(0, 10, 0.5, 0.5);
    run();
    cr_expect_float_eq(r.makespan_s, 5, 1e-6);
    cr_expect_eq(r.violations, 0);
    over();
    begin(1, 2);
    rules.speeds = FLEET_SHARES;
    service(0, 10, 0.5, 0.5);
    service(0, 10, 0.5, 0.5);
    run();
    cr_expect_float_eq(r.makespan_s, 10, 1e-6);
    cr_expect_eq(r.violations, 2);
    cr_expect_eq(r.hopeless, 0, "each could be held alone");
    cr_expect_eq(r.days[0].services, 2);
    cr_expect_eq(r.days[0].violations, 2);
    over();
}

/* 0.96 of its length would take more than the whole GPU. */
Test(fleet_world, what_no_gpu_could_hold_is_counted) {
    begin(2, 1);
    rules.speeds = FLEET_SHARES;
    rules.tolerance = 0.02;
    service(0, 10, 1, 0.96);
    service(0, 10, 0.97, 0.96);
    run();
    cr_expect_eq(r.hopeless, 1);
    cr_expect_eq(r.violations, 1, "the other is 1 % late");
    over();
}

/* A training sleeps while services need the whole device. */
Test(fleet_world, trainings_sleep_beside_services_that_need_all) {
    begin(1, 2);
    rules.speeds = FLEET_SHARES;
    service(0, 10, 1, 1);
    job(0, 7, 0.5);
    run();
    cr_expect_float_eq(r.makespan_s, 17, 1e-6);
    cr_expect_eq(r.violations, 0);
    over();
}

/* With the curve no job is preferred. */
Test(fleet_world, without_a_controller_services_are_slowed_down_as_well) {
    begin(1, 2);
    service(0, 10, 0.5, 1.1);
    job(0, 30, 1);
    run();
    cr_expect_float_eq(r.makespan_s, 12.5 + 20, 1e-6);
    cr_expect_eq(r.violations, 1);
    rules.tolerance = 0.14; /* 1.254 */
    over();
    begin(1, 2);
    service(0, 10, 0.5, 1.1);
    job(0, 30, 1);
    rules.tolerance = 0.14;
    run();
    cr_expect_eq(r.violations, 0);
    over();
}

/* Held at 1 + error: equally many on either side, and beyond two deviations one in 44. */
Test(fleet_world, a_controller_is_off) {
    begin(200, 2);
    rules.speeds = FLEET_SHARES;
    rules.hold_error = 0.01;
    rules.tolerance = 0.02;
    for (int i = 0; i < 100; i++) {
        service(0, 10, 0.5, 2);
        job(0, 1000, 1);
    }
    run();
    cr_expect(r.violations > 0 && r.violations < 8, "%u", r.violations);
    rules.tolerance = 0;
    over();
    begin(200, 2);
    rules.speeds = FLEET_SHARES;
    rules.hold_error = 0.01;
    for (int i = 0; i < 100; i++) {
        service(0, 10, 0.5, 2);
        job(0, 1000, 1);
    }
    run();
    cr_expect(r.violations > 30 && r.violations < 70, "%u", r.violations);
    over();
}

/* ---- ends before completion ------------------------------------------------------------------ */

/* Ten bytes: six and six do not fit. The job dies three seconds after each start, at 3, 6, 9 and
 * 12; the other one is gone at 10. */
Test(fleet_world, who_has_not_the_memory_ends) {
    begin(1, 2);
    rules.memory_end_ns = 3 * S;
    job(0, 10, 0.1)->is.persistent_bytes = 6;
    job(0, 10, 0.1)->is.persistent_bytes = 6;
    run();
    cr_expect_eq(r.memory_ends, 4);
    cr_expect_eq(rig->memory[2], 4);
    cr_expect_float_eq(r.makespan_s, 22, 1e-6);
    cr_expect_float_eq(r.lost_gpu_s, 0, 1e-9, "it never worked");
    over();
}

/* While the second job, which wants eight of ten bytes, is ending, a third one that wants six
 * fits beside the first, which has three. */
Test(fleet_world, who_is_doomed_has_nothing) {
    begin(1, 3);
    rules.memory_end_ns = 3 * S;
    rig->refuse = true;
    job(0, 10, 0.1)->is.persistent_bytes = 3;
    job(0, 10, 0.1)->is.persistent_bytes = 8;
    job(1, 10, 0.1)->is.persistent_bytes = 6;
    run();
    cr_expect_eq(r.memory_ends, 1);
    cr_expect_eq(r.ended, 2);
    over();
}

/* Persistent memory adds up, ephemeral memory is used in turns. */
Test(fleet_world, lanes_hold_what_sums_do_not) {
    for (int lanes = 0; lanes < 2; lanes++) {
        begin(1, 2);
        rules.memory = lanes ? PLACE_MEMORY_LANES : PLACE_MEMORY_SUM;
        rules.memory_end_ns = S;
        rig->refuse = true;
        job(0, 10, 0.1)->is = (struct jobset_need){0.1, 2, 4};
        job(0, 10, 0.1)->is = (struct jobset_need){0.1, 2, 6};
        run();
        cr_expect_eq(r.refused, lanes ? 0 : 1);
        cr_expect_eq(r.ended, lanes ? 2 : 1);
        over();
    }
}

/* Two seconds of set-up and 33 of work; checkpoints are at multiples of ten seconds. */
Test(fleet_world, who_is_stopped_loses_what_was_not_kept) {
    begin(1, 1);
    rules.begin_ns = 2 * S;
    rules.keep_ns = 10 * S;
    rig->stop = 1;
    rig->stop_ns = 35 * S;
    job(0, 100, 1);
    run();
    cr_expect_float_eq(r.makespan_s, 35 + 2 + 70, 1e-6);
    cr_expect_float_eq(r.lost_gpu_s, 3, 1e-6);
    cr_expect_float_eq(r.set_up_gpu_s, 4, 1e-6);
    cr_expect_float_eq(r.worked_gpu_s, 107, 1e-6);
    cr_expect_float_eq(r.wait_s.mean, 0, 1e-9);
    cr_expect_eq(r.stops, 1);
    over();
}

Test(fleet_world, without_what_is_kept_it_begins_anew) {
    begin(1, 1);
    rig->stop = 1;
    rig->stop_ns = 35 * S;
    job(0, 100, 1);
    run();
    cr_expect_float_eq(r.makespan_s, 135, 1e-6);
    cr_expect_float_eq(r.lost_gpu_s, 35, 1e-6);
    over();
}

/* ---- measurements for the placer ------------------------------------------------------------- */

/* Alone for 20 s, then at 1 / 1.36 of its speed. */
Test(fleet_world, speeds_are_measured_when_they_have_lasted) {
    begin(1, 2);
    rules.measure_ns = 5 * S;
    rules.measure_speed = true;
    job(0, 30, 0.8);
    job(20, 4, 0.8);
    run();
    cr_expect_float_eq(rig->measured[1].speed, 1, 1e-9, "alone again");
    cr_expect_float_eq(rig->measured[2].speed, 1 / 1.36, 1e-9);
    cr_expect_eq(rig->measures, 4, "at 5, 25 twice, and 30.44: %u", rig->measures);
    cr_expect_float_eq(rig->measured[1].util, 0, 1e-9);
    over();
}

Test(fleet_world, needs_are_measured_once) {
    begin(1, 2);
    rules.measure_ns = 5 * S;
    rules.measure_needs = true;
    job(0, 30, 0.8)->is.persistent_bytes = 3;
    job(20, 10, 0.8);
    job(40, 1, 0.8);
    run();
    cr_expect_eq(rig->measures, 2, "the last one ended before");
    cr_expect_float_eq(rig->measured[1].util, 0.8, 1e-9);
    cr_expect_eq(rig->measured[1].persistent_bytes, 3);
    cr_expect_float_eq(rig->measured[1].speed, 0, 1e-9);
    over();
}

/* ---- days ------------------------------------------------------------------------------------ */

/* A training of a day and a half, and a service of six hours on another GPU. */
Test(fleet_world, days_are_counted_from_the_first_arrival) {
    begin(2, 1);
    job(1000, 36 * 3600, 1);
    service(1000, 6 * 3600, 1, 1);
    run();
    cr_assert_eq(r.day_count, 2);
    cr_expect_float_eq(r.days[0].used_gpus, 1.25, 1e-9);
    cr_expect_float_eq(r.days[1].used_gpus, 1, 1e-9);
    cr_expect_float_eq(r.days[1].separate_gpus, 6, 1e-9, "five for services beside it");
    cr_expect_float_eq(r.used_gpus, 42 / 36.0, 1e-9);
    cr_expect_float_eq(r.busiest_gpus, 2, 1e-9);
    over();
}

/* The GPUs for twelve services require 2.4 GPUs for trainings. */
Test(fleet_world, the_dearer_kind_says_how_many_separate_gpus_there_are) {
    begin(20, 1);
    for (int i = 0; i < 12; i++)
        service(0, 10, 0.5, 1);
    job(0, 10, 0.5);
    run();
    cr_expect_float_eq(r.separate_gpus, 14.4, 1e-9);
    over();
}
