/* SPDX-License-Identifier: Apache-2.0
 *
 * The simulated device for single kernels: times computed by hand for each rule of kdev.h,
 * invariants with random kernels, and Table 2 of the Orion paper.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "daemon/sched/policy/contention.h"
#include "daemon/sim/base/prng.h"
#include "test/lib/sched/table2.h"

#define STREAMS 8
#define DEPTH 4
#define US 1000ull

/* One slot stands for all SMs, and contention costs nothing: tests one rule at a time. */
static const struct kdev_contention plain = {.slots = 1, .left = 1};

static const struct workload v100 = {.sms = 80}, soft = {.sms = 80, .sliced = true};

static struct kdev *device(const struct kdev_contention *c) {
    struct kdev *d;
    cr_assert_eq(kdev_create(&d, c, STREAMS, DEPTH), 0);
    return d;
}

/* A kernel that uses no unit. */
static struct kdev_work slots_only(double us, double want, double wave_us) {
    return (struct kdev_work){.duration_ns = us * 1e3, .want = want, .wave_ns = wave_us * 1e3};
}

/* The end of each stream's last operation, by stream. */
static void run_to_end(struct kdev *d, uint64_t *ends) {
    uint32_t streams[STREAMS], count;
    for (uint64_t at; (at = kdev_next(d)) != KDEV_NEVER;) {
        count = kdev_finished(d, at, streams);
        for (uint32_t i = 0; i < count; i++) {
            cr_assert(i == 0 || streams[i] > streams[i - 1]);
            ends[streams[i]] = at;
        }
    }
}

/* Ends of up to 4 kernels, by stream, submitted at given times with given levels. */
struct pushed {
    struct kdev_work work;
    uint64_t at_us;
    uint32_t level;
};

static void expect_ends(const struct kdev_contention *c, const struct pushed *p, uint32_t count,
                        const double *expected_us) {
    struct kdev *d = device(c);
    uint64_t ends[STREAMS] = {0};
    uint32_t streams[STREAMS];
    for (uint32_t i = 0; i < count; i++) {
        bool later = i > 0 && p[i].at_us > p[i - 1].at_us;
        for (uint64_t at; later && (at = kdev_next(d)) <= p[i].at_us * US;) {
            uint32_t ended = kdev_finished(d, at, streams);
            for (uint32_t k = 0; k < ended; k++)
                ends[streams[k]] = at;
        }
        kdev_push(d, p[i].at_us * US, i, &p[i].work, 0, p[i].level);
    }
    run_to_end(d, ends);
    for (uint32_t i = 0; i < count; i++)
        cr_expect_lt(fabs((double)ends[i] - expected_us[i] * 1e3), 2,
                     "kernel %u: %lu ns, not %g us", i, (unsigned long)ends[i], expected_us[i]);
    kdev_destroy(d);
}

#define ENDS(contention, ...)                               \
    expect_ends(contention, (struct pushed[]){__VA_ARGS__},                            \
                sizeof((struct pushed[]){__VA_ARGS__}) / sizeof(struct pushed), (double[])
#define ARE(...) {__VA_ARGS__})

/* ---- a kernel alone -------------------------------------------------------------------------- */

Test(sim_kdev, alone_it_takes_its_own_time_to_the_nanosecond) {
    const struct kdev_contention c = {.slots = CONTENTION_SLOTS / 1000.0,
                                      .left = CONTENTION_LEFT / 1000.0};
    static const uint32_t sms[] = {1, 7, 32, 80, 81, 200, 5000};
    for (size_t i = 0; i < sizeof(sms) / sizeof(sms[0]); i++)
        for (uint32_t class = 0; class < 3; class ++) {
            struct workload_kernel k = {.duration_ns = 123456 + i,
                                        .sms = sms[i],
                                        .class = class,
                                        .compute_milli = WORKLOAD_BY_CLASS,
                                        .memory_milli = WORKLOAD_BY_CLASS};
            struct kdev_work work = kdev_work_of(&v100, &k);
            struct kdev *d = device(&c);
            uint64_t ends[STREAMS];
            kdev_push(d, 77, 3, &work, 0, 0);
            run_to_end(d, ends);
            cr_expect_eq(ends[3], 77 + k.duration_ns, "%u SMs: %lu", sms[i],
                         (unsigned long)ends[3]);
            cr_expect_eq(kdev_active_ns(d), (double)k.duration_ns);
            kdev_destroy(d);
        }
}

Test(sim_kdev, a_class_stands_for_what_the_paper_measured) {
    struct workload_kernel k = {.duration_ns = 1,
                                .sms = 16,
                                .class = SCHED_CLASS_MEMORY,
                                .compute_milli = WORKLOAD_BY_CLASS,
                                .memory_milli = WORKLOAD_BY_CLASS};
    struct kdev_work w = kdev_work_of(&v100, &k);
    cr_expect_float_eq(w.want, 0.2, 1e-9);
    cr_expect_float_eq(w.memory, 0.4, 1e-9, "half of what it reaches on 40 %% of the SMs");
    cr_expect_float_eq(w.compute, 0.07, 1e-9);
    k.class = SCHED_CLASS_COMPUTE;
    k.sms = 160;
    w = kdev_work_of(&v100, &k);
    cr_expect_float_eq(w.want, 1, 1e-9);
    cr_expect_float_eq(w.wave_ns, 0.5, 1e-9);
    cr_expect_float_eq(w.compute, 0.89, 1e-9);
    cr_expect_float_eq(w.memory, 0.20, 1e-9);
    k.memory_milli = 550;
    cr_expect_float_eq(kdev_work_of(&v100, &k).memory, 0.55, 1e-9, "given");
}

/* ---- streams --------------------------------------------------------------------------------- */

Test(sim_kdev, a_stream_runs_in_order_and_not_before_it_is_ready) {
    struct kdev *d = device(&plain);
    struct kdev_work work = slots_only(10, 0.5, 0);
    uint32_t streams[STREAMS];
    kdev_push(d, 0, 0, &work, 3 * US, 0);
    kdev_push(d, 0, 0, &work, 3 * US, 0);
    cr_expect_eq(kdev_next(d), 3 * US);
    cr_expect_eq(kdev_finished(d, 3 * US, streams), 0);
    kdev_push(d, 5 * US, 0, &work, 30 * US, 0);
    static const uint64_t times[] = {13 * US, 23 * US, 30 * US, 40 * US};
    static const uint32_t counts[] = {1, 1, 0, 1};
    for (int i = 0; i < 4; i++) {
        cr_assert_eq(kdev_next(d), times[i]);
        cr_assert_eq(kdev_finished(d, times[i], streams), counts[i]);
    }
    cr_expect_eq(kdev_next(d), KDEV_NEVER);
    cr_expect_eq(kdev_active_ns(d), 30.0 * US);
    cr_expect_eq(kdev_slots_ns(d), 15.0 * US);
    kdev_destroy(d);
}

Test(sim_kdev, a_copy_takes_nothing_from_kernels) {
    ENDS(&plain, {slots_only(10, 1, 0), 0, 0}, {slots_only(7, 0, 0), 0, 0}) ARE(10, 7);
}

/* ---- slices ---------------------------------------------------------------------------------- */

static struct kdev_work slices(double us, double use) {
    struct workload_kernel k = {
        .duration_ns = (uint64_t)(us * 1e3), .sms = 500, .use_milli = (uint32_t)(use * 1000)};
    return kdev_work_of(&soft, &k);
}

/* No kernel keeps its slots: the second one has its half at once, and the first takes 10 + 2 *
 * 10 - 10. */
Test(sim_kdev, a_sliced_device_is_shared_anew_at_any_moment) {
    const struct kdev_contention c = {.slots = 1, .left = 1, .sliced = true};
    ENDS(&c, {slices(20, 1), 0, 0}, {slices(5, 1), 10, 0}) ARE(25, 20);
    ENDS(&c, {slices(20, 0.4), 0, 0}, {slices(30, 0.6), 0, 0}) ARE(20, 30);
}

/* Two kernels share 0.8 of the device: the small one gets the 0.2 that it wants, the large one 0.6
 * of its 0.9. Once it is alone, the large one gets all. */
Test(sim_kdev, less_of_a_sliced_device_is_left_where_several_run) {
    const struct kdev_contention c = {.slots = 1, .left = 0.8, .sliced = true};
    ENDS(&c, {slices(12, 0.2), 0, 0}, {slices(18, 0.9), 0, 0}) ARE(12, 22);
    ENDS(&c, {slices(12, 0.9), 0, 0}) ARE(12);
}

/* The kernel that arrives at 10 us waits for 3 us, in which the first continues; then half each. */
Test(sim_kdev, what_begins_beside_others_waits_for_their_slices) {
    const struct kdev_contention c = {.slots = 1, .left = 1, .sliced = true, .wait_ns = 3000};
    ENDS(&c, {slices(20, 1), 0, 0}, {slices(4, 1), 10, 0}) ARE(24, 21);
    const struct kdev_contention whole = {.slots = 1, .left = 1, .wait_ns = 3000};
    ENDS(&whole, {slots_only(10, 0.5, 0), 0, 0}, {slots_only(10, 0.5, 0), 0, 0}) ARE(10, 10);
}

Test(sim_kdev, a_higher_level_has_its_slices_first) {
    const struct kdev_contention c = {.slots = 1, .left = 1, .sliced = true};
    ENDS(&c, {slices(10, 1), 0, 0}, {slices(10, 0.8), 0, 1}) ARE(10 + 8, 10);
}

/* ---- slots ----------------------------------------------------------------------------------- */

/* Three kernels that want .2, .7 and .7 of 1 get .2, .4 and .4: the small one runs at full
 * speed. It ends after 10 us; then the others have .5 each, with 40/7 us of each done. */
Test(sim_kdev, slots_are_shared_by_water_filling) {
    double done = 10 * 0.4 / 0.7, end = 10 + (100 - done) * 0.7 / 0.5;
    ENDS(&plain, {slots_only(10, 0.2, 0), 0, 0}, {slots_only(100, 0.7, 0), 0, 0},
         {slots_only(100, 0.7, 0), 0, 0})
    ARE(10, end, end);
}

/* A kernel that has begun keeps its slots: the second one gets the rest, and more when the first
 * has ended. */
Test(sim_kdev, running_blocks_keep_their_slots) {
    ENDS(&plain, {slots_only(10, 0.8, 0), 0, 0}, {slots_only(10, 0.8, 0), 2, 1}) ARE(10, 18);
    ENDS(&plain, {slots_only(10, 1, 0), 0, 0}, {slots_only(10, 0.5, 0), 2, 1}) ARE(10, 20);
}

/* A kernel of 4 waves of 10 us; another one arrives during the second wave and gets half at its
 * end. */
Test(sim_kdev, slots_are_given_out_anew_when_a_wave_ends) {
    /* From 20 us on half each: the second ends at 40, when 30 of the first's 40 us are done. */
    ENDS(&plain, {slots_only(40, 1, 10), 0, 0}, {slots_only(10, 1, 0), 13, 0}) ARE(50, 40);
    /* The other one gets a whole wave if its level is higher. */
    ENDS(&plain, {slots_only(40, 1, 10), 0, 0}, {slots_only(10, 1, 0), 13, 1}) ARE(50, 30);
    /* The other one arrives exactly when a wave ends. */
    ENDS(&plain, {slots_only(40, 1, 10), 0, 0}, {slots_only(10, 1, 0), 20, 1}) ARE(50, 30);
}

/* An event is at a whole nanosecond; the end of a wave need not be. */
Test(sim_kdev, a_wave_that_ends_between_two_nanoseconds_gives_its_slots_back) {
    ENDS(&plain, {slots_only(40.0016, 1, 10.0004), 0, 0}, {slots_only(10, 1, 0), 13, 1})
    ARE(50.0016, 30.0008);
}

/* The ends of two kernels: one of the lower level, from 0 on, and one that arrives at
 * `comes_us`. */
static void ends_of_two(uint64_t slice_us, struct kdev_work first, struct kdev_work second,
                        uint64_t comes_us, uint64_t ends[STREAMS]) {
    struct kdev *d = device(&plain);
    kdev_slice(d, slice_us * US);
    kdev_push(d, 0, 0, &first, 0, 0);
    kdev_push(d, comes_us * US, 1, &second, 0, 1);
    run_to_end(d, ends);
    kdev_destroy(d);
}

Test(sim_kdev, a_kernel_gives_way_at_the_end_of_its_slice) {
    uint64_t ends[STREAMS];
    ends_of_two(4, slots_only(40, 1, 0), slots_only(10, 1, 0), 13, ends);
    cr_expect_eq(ends[1], 26 * US, "from 16 us on: %lu", (unsigned long)ends[1]);
    cr_expect_eq(ends[0], 50 * US, "and goes on where it was: %lu", (unsigned long)ends[0]);
    ends_of_two(4, slots_only(40, 1, 0), slots_only(10, 0.25, 0), 13, ends);
    cr_expect_eq(ends[1], 26 * US, "%lu", (unsigned long)ends[1]);
    cr_expect_eq(ends[0], 42500, "it keeps what the other leaves: %lu", (unsigned long)ends[0]);
}

/* Paused from the end of its slice, 16 us, to 30. Later work of its stream does not begin
 * before. */
Test(sim_kdev, what_stands_still_goes_on_when_it_is_told) {
    struct kdev_work first = slots_only(40, 1, 0), behind = slots_only(5, 0.5, 0);
    struct kdev *d = device(&plain);
    uint64_t ends[STREAMS];
    uint32_t streams[STREAMS];
    kdev_slice(d, 4 * US);
    kdev_push(d, 0, 0, &first, 0, 0);
    kdev_push(d, 0, 0, &behind, 0, 0);
    kdev_still(d, 13 * US, 0, true);
    cr_assert_eq(kdev_next(d), 16 * US);
    for (uint64_t at; (at = kdev_next(d)) <= 30 * US;)
        kdev_finished(d, at, streams);
    kdev_still(d, 30 * US, 0, false);
    run_to_end(d, ends);
    cr_expect_eq(ends[0], 59 * US, "%lu", (unsigned long)ends[0]);
    kdev_destroy(d);
}

/* ---- sizes -------------------------------------------------------------------------------------
 */

static struct kdev_work sized(double us, double full, double fit) {
    return (struct kdev_work){.duration_ns = us * 1e3, .want = 1, .full = full, .fit = fit};
}

/* A memory-bound kernel, for example: half of the slots are enough, .3 of them are not. */
Test(sim_kdev, a_kernel_that_is_as_fast_on_fewer_sms_loses_nothing_there) {
    ENDS(&plain, {slots_only(30, 0.5, 0), 0, 1}, {sized(10, 0.4, 0), 0, 0}) ARE(30, 10);
    ENDS(&plain, {slots_only(40, 0.7, 0), 0, 1}, {sized(30, 0.4, 0), 0, 0}) ARE(40, 40);
}

/* Slots that it does not get are free for others; at a higher level it gets all. */
Test(sim_kdev, best_effort_work_is_given_no_more_than_fits_it) {
    ENDS(&plain, {sized(30, 0.4, 0.3), 0, 0}, {slots_only(10, 0.7, 0), 5, 0}) ARE(40, 15);
    ENDS(&plain, {sized(30, 0.4, 0.3), 0, 1}, {slots_only(10, 0.7, 0), 5, 0}) ARE(30, 40);
}

/* ---- sub-grids ---------------------------------------------------------------------------------
 */

/* The end of a kernel that is told to pause from 13 us to 33; *stood: whether it was paused at
 * 25. */
static uint64_t end_of_still(struct kdev_work work, bool *stood) {
    struct kdev *d = device(&plain);
    uint64_t ends[STREAMS];
    uint32_t streams[STREAMS];
    kdev_subgrids(d);
    kdev_push(d, 0, 0, &work, 0, 0);
    kdev_still(d, 13 * US, 0, true);
    for (uint64_t at; (at = kdev_next(d)) <= 33 * US;)
        kdev_finished(d, at, streams);
    *stood = kdev_next(d) == KDEV_NEVER;
    kdev_still(d, 33 * US, 0, false);
    run_to_end(d, ends);
    kdev_destroy(d);
    return ends[0];
}

Test(sim_kdev, a_kernel_of_sub_grids_stands_still_between_its_waves) {
    bool stood;
    cr_expect_eq(end_of_still(slots_only(40, 1, 10), &stood), 53 * US, "from 20 us on");
    cr_expect(stood);
    cr_expect_eq(end_of_still(slots_only(40, 1, 0), &stood), 40 * US, "one wave stays one");
    cr_expect_not(stood);
}

Test(sim_kdev, the_higher_level_is_served_first_whenever_slots_are_free) {
    /* All are submitted at once: the high-level kernel has all slots; then the others have half
     * each. */
    ENDS(&plain, {slots_only(10, 1, 0), 0, 0}, {slots_only(10, 1, 0), 0, 0},
         {slots_only(10, 1, 0), 0, 1})
    ARE(30, 30, 10);
    /* Both levels wait for the first kernel: slots that it leaves go to the higher level. */
    ENDS(&plain, {slots_only(10, 1, 0), 0, 0}, {slots_only(10, 0.6, 0), 1, 0},
         {slots_only(10, 0.6, 0), 2, 1})
    ARE(10, 10 + 10 + 10 / 3.0, 20);
}

/* Slots that one kernel cannot use go to the others. */
Test(sim_kdev, blocks_of_several_kernels_share_sms) {
    const struct kdev_contention c = {.slots = 1.5, .left = 1};
    ENDS(&c, {slots_only(10, 1, 0), 0, 0}, {slots_only(10, 1, 0), 2, 0}) ARE(10, 16);
}

/* ---- units ----------------------------------------------------------------------------------- */

/* A quarter of the slots for stream 0: it takes four times as long, and the rest is for others;
 * a running kernel keeps its slots. */
Test(sim_kdev, a_stream_is_kept_to_its_part_of_the_slots) {
    struct kdev *d = device(&plain);
    struct kdev_work whole = slots_only(100, 1, 0), most = slots_only(100, 0.75, 0);
    uint64_t ends[STREAMS] = {0};
    uint32_t streams[STREAMS];
    kdev_share(d, 0, 0.25);
    kdev_push(d, 0, 0, &whole, 0, 0);
    kdev_push(d, 0, 1, &most, 0, 0);
    cr_expect_eq(kdev_next(d), 100 * US);
    kdev_share(d, 0, 1);
    cr_expect_eq(kdev_finished(d, 100 * US, streams), 1);
    cr_expect_eq(streams[0], 1);
    kdev_push(d, 100 * US, 0, &whole, 0, 0);
    cr_expect_eq(kdev_next(d), 400 * US);
    run_to_end(d, ends);
    cr_expect_eq(ends[0], 500 * US);
    kdev_destroy(d);
}

static struct kdev_work units(double us, double compute, double memory) {
    return (struct kdev_work){
        .duration_ns = us * 1e3, .want = 0.1, .compute = compute, .memory = memory};
}

/* Demands of .2, .6 and .6 of the bandwidth: .2, .4 and .4. */
Test(sim_kdev, bandwidth_is_shared_by_water_filling) {
    double done = 10 * 0.4 / 0.6, end = 10 + (100 - done) * 0.6 / 0.5;
    ENDS(&plain, {units(10, 0, 0.2), 0, 0}, {units(100, 0, 0.6), 0, 0}, {units(100, 0, 0.6), 0, 0})
    ARE(10, end, end);
}

/* The scarcest unit sets the pace. Bandwidth limits the first kernel to half speed; the third
 * gets the arithmetic that it leaves: (.8 - .4 / 2) / .8 of its speed. */
Test(sim_kdev, what_one_unit_withholds_another_unit_gives_on) {
    const struct kdev_contention c = {.slots = 1, .left = 0.8};
    ENDS(&c, {units(100, 0.4, 0.8), 0, 0}, {units(100, 0, 0.8), 0, 0}, {units(30, 0.8, 0), 0, 0})
    ARE(200, 200, 40);
}

Test(sim_kdev, no_level_helps_within_a_unit) {
    ENDS(&plain, {units(10, 0, 1), 0, 0}, {units(10, 0, 1), 0, 1}) ARE(20, 20);
}

/* Contention reduces a unit for several kernels, not for one that runs with a copy or with one
 * that waits for slots. */
Test(sim_kdev, contention_costs_only_when_several_run) {
    const struct kdev_contention c = {.slots = 1, .left = 0.5};
    struct kdev_work one = units(10, 0.9, 0), full = {.duration_ns = 10e3, .want = 1, .compute = 1};
    /* 9 us at 5/9 of its speed, then alone. */
    ENDS(&c, {one, 0, 0}, {units(9, 0, 0), 0, 0}) ARE(14, 9);
    ENDS(&c, {full, 0, 0}, {slots_only(30, 0, 0), 0, 0}) ARE(10, 30);
    ENDS(&c, {full, 0, 0}, {full, 1, 0}) ARE(10, 20);
}

/* ---- Table 2 --------------------------------------------------------------------------------- */

Test(sim_kdev, table_2_of_the_orion_paper) {
    const struct kdev_contention frozen = {.slots = CONTENTION_SLOTS / 1000.0,
                                           .left = CONTENTION_LEFT / 1000.0};
    for (int pair = 0; pair < TABLE2_PAIRS; pair++) {
        double speedup = table2_speedup(&frozen, pair);
        cr_expect_lt(fabs(speedup / table2[pair].speedup - 1), 0.02, "%s: %.3f, not %.2f",
                     table2[pair].name, speedup, table2[pair].speedup);
    }
}

/* ---- random kernels -------------------------------------------------------------------------- */

/* Each kernel takes at least its own time, the slots in use never exceed the total, and
 * everything ends. */
static void run_random(uint64_t seed) {
    const struct kdev_contention c = {.slots = CONTENTION_SLOTS / 1000.0,
                                      .left = CONTENTION_LEFT / 1000.0};
    struct kdev_work works[STREAMS * DEPTH];
    struct kdev *d = device(&c);
    uint64_t ends[STREAMS] = {0};
    double alone_ns[STREAMS] = {0};
    for (uint32_t i = 0; i < STREAMS * DEPTH; i++) {
        uint64_t r = prng_at(seed, 0, i);
        struct workload_kernel k = {.duration_ns = 1 + r % 200000,
                                    .sms = 1 + (r >> 20) % ((r >> 60) % 2 ? 80 : 3000),
                                    .class = (r >> 40) % 3,
                                    .copy = (r >> 50) % 8 == 0,
                                    .compute_milli = WORKLOAD_BY_CLASS,
                                    .memory_milli = WORKLOAD_BY_CLASS};
        works[i] = kdev_work_of(&v100, &k);
        kdev_push(d, 0, i % STREAMS, &works[i], 0, (r >> 56) % 2);
        alone_ns[i % STREAMS] += works[i].duration_ns;
    }
    run_to_end(d, ends);
    for (uint32_t i = 0; i < STREAMS; i++)
        cr_assert_geq((double)ends[i], alone_ns[i], "seed %lu: stream %u was too fast",
                      (unsigned long)seed, i);
    cr_assert_leq(kdev_slots_ns(d), kdev_active_ns(d) * (CONTENTION_SLOTS / 1000.0) * (1 + 1e-9));
    cr_assert_leq(kdev_active_ns(d), kdev_running_ns(d));
    kdev_destroy(d);
}

Test(sim_kdev, random_kernels_all_end_and_none_before_its_time) {
    for (uint64_t seed = 1; seed <= 2000; seed++)
        run_random(seed);
}
