/* SPDX-License-Identifier: Apache-2.0
 *
 * The simulated device: the end times of iterations that share it, compared with times computed by
 * hand, and random ones with a plain model that integrates every share.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "daemon/sim/base/latency.h"
#include "daemon/sim/base/prng.h"
#include "daemon/sim/device/simdev.h"

#define JOBS 64

static struct workload_job jobs[JOBS];
static struct workload world = {.jobs = jobs, .count = JOBS};

static struct simdev *device(const uint32_t *demands, uint32_t count) {
    struct simdev *d;
    for (uint32_t i = 0; i < JOBS; i++)
        jobs[i].demand_milli = i < count ? demands[i] : 1000;
    cr_assert_eq(simdev_create(&d, &world), 0);
    return d;
}

static void expect_next(struct simdev *d, uint64_t at, uint32_t job) {
    uint32_t ended[JOBS];
    cr_assert_eq(simdev_next(d), at, "%lu, not %lu", (unsigned long)simdev_next(d),
                 (unsigned long)at);
    cr_assert_eq(simdev_finished(d, at, ended), 1);
    cr_assert_eq(ended[0], job, "%u, not %u", ended[0], job);
}

Test(sim_device, alone_it_takes_its_own_time) {
    struct simdev *d = device((uint32_t[]){1000, 300}, 2);
    cr_expect_eq(simdev_next(d), SIMDEV_NEVER);
    simdev_start(d, 100, 0, 1000);
    expect_next(d, 1100, 0);
    simdev_start(d, 2000, 1, 777);
    expect_next(d, 2777, 1);
    cr_expect_eq(simdev_next(d), SIMDEV_NEVER);
    cr_expect_eq(simdev_active_ns(d), 1777);
    simdev_destroy(d);
}

Test(sim_device, those_that_fit_beside_one_another_do_not_slow) {
    struct simdev *d = device((uint32_t[]){600, 400}, 2);
    simdev_start(d, 0, 0, 1000);
    simdev_start(d, 100, 1, 500);
    expect_next(d, 600, 1);
    expect_next(d, 1000, 0);
    cr_expect_eq(simdev_running_ns(d), 1500);
    cr_expect_eq(simdev_active_ns(d), 1000);
    simdev_destroy(d);
}

/* Two jobs that could each fill the device: half each while both run. */
Test(sim_device, full_ones_split_it) {
    struct simdev *d = device((uint32_t[]){1000, 1000}, 2);
    simdev_start(d, 0, 0, 1000);
    simdev_start(d, 500, 1, 1000); /* job 0 has 500 left, at half speed: until 1500 */
    expect_next(d, 1500, 0);
    expect_next(d, 2000, 1); /* 500 done at 1500 */
    simdev_destroy(d);
}

/* Max-min: 0.2 is below the level and keeps its share; 0.6 and 0.8 get 0.4 each, which is 2/3
 * and 1/2 of their speed. */
Test(sim_device, less_is_left_where_several_run) {
    world.left_milli = 800;
    struct simdev *d = device((uint32_t[]){1000, 1000, 300}, 3);
    simdev_start(d, 0, 0, 1000);
    simdev_start(d, 0, 1, 2000);
    expect_next(d, 2500, 0); /* .4 each */
    expect_next(d, 3500, 1); /* the rest of it runs alone */
    simdev_start(d, 4000, 2, 100);
    expect_next(d, 4100, 2);
    simdev_destroy(d);
    world.left_milli = 0;
}

Test(sim_device, the_small_one_is_served_first_and_the_rest_is_split) {
    struct simdev *d = device((uint32_t[]){600, 200, 800}, 3);
    simdev_start(d, 0, 0, 600);
    simdev_start(d, 0, 1, 300);
    simdev_start(d, 0, 2, 1200);
    expect_next(d, 300, 1);
    /* 0: 200 done, 400 left; 2: 150 done, 1050 left; now 0.5 each: 5/6 and 5/8. */
    expect_next(d, 780, 0);
    expect_next(d, 1530, 2); /* 450 done at 780, 750 left alone */
    simdev_destroy(d);
}

Test(sim_device, equal_ends_come_together_in_order_of_job) {
    uint32_t ended[JOBS];
    struct simdev *d = device((uint32_t[]){250, 250, 250, 125}, 4);
    simdev_start(d, 0, 3, 1000);
    simdev_start(d, 0, 1, 1000);
    simdev_start(d, 0, 2, 1000);
    cr_expect_eq(simdev_next(d), 1000);
    cr_expect_eq(simdev_running(d), 3);
    cr_expect_eq(simdev_finished(d, 1000, ended), 3);
    cr_expect(ended[0] == 1 && ended[1] == 2 && ended[2] == 3);
    cr_expect_eq(simdev_running(d), 0);
    simdev_destroy(d);
}

/* In a class that is never empty for days of virtual time, small progress must not be lost. */
Test(sim_device, clocks_that_run_for_long_still_see_a_nanosecond) {
    uint32_t ended[JOBS];
    struct simdev *d = device((uint32_t[]){1000, 1000, 1}, 3);
    uint64_t now = 0;
    simdev_start(d, 0, 0, 3600000000000000ull);
    for (int i = 0; i < 20000; i++) {
        simdev_start(d, now, 1, 100000000001ull);
        simdev_start(d, now, 2, 1);
        for (uint32_t n = 0; n < 2;) {
            uint64_t next = simdev_next(d);
            cr_assert_geq(next, now);
            cr_assert_leq(next, now + 200000000003ull);
            now = next;
            n += simdev_finished(d, now, ended);
        }
    }
    /* Half of the time at 1/2, except for the nanosecond at 0.4995: rounded up. */
    cr_expect_eq(now, 20000 * 200000000003ull, "%lu", (unsigned long)now);
    simdev_destroy(d);
}

/* ---- a plain model --------------------------------------------------------------------------- */

struct model {
    double left[JOBS]; /* < 0: not running */
    double now;
};

static void model_rates(const struct model *m, double *rates) {
    bool full[JOBS] = {false};
    double capacity = 1;
    uint32_t open = 0;
    for (uint32_t i = 0; i < JOBS; i++)
        open += m->left[i] >= 0;
    for (bool again = true; again && open > 0;) {
        again = false;
        double level = capacity / open;
        for (uint32_t i = 0; i < JOBS && !again; i++) {
            double u = jobs[i].demand_milli / 1000.0;
            if (m->left[i] < 0 || full[i] || u > level + 1e-12) continue;
            full[i] = again = true;
            rates[i] = 1;
            capacity -= u;
            open--;
        }
    }
    for (uint32_t i = 0; i < JOBS; i++)
        if (m->left[i] >= 0 && !full[i])
            rates[i] = capacity / open / (jobs[i].demand_milli / 1000.0);
}

static void model_advance(struct model *m, double to) {
    double rates[JOBS] = {0};
    model_rates(m, rates);
    for (uint32_t i = 0; i < JOBS; i++)
        if (m->left[i] >= 0) m->left[i] -= rates[i] * (to - m->now);
    m->now = to;
}

Test(sim_device, agrees_with_a_plain_model) {
    uint32_t demands[JOBS], ended[JOBS];
    for (uint32_t i = 0; i < JOBS; i++)
        demands[i] = 1 + (uint32_t)(prng_at(1, 0, i) % (i % 2 ? 1000 : 60));
    struct simdev *d = device(demands, JOBS);
    struct model m = {.now = 0};
    uint64_t now = 0;
    for (uint32_t i = 0; i < JOBS; i++)
        m.left[i] = -1;
    for (uint32_t n = 0; n < 50000; n++) {
        uint32_t job = (uint32_t)(prng_at(2, 0, n) % JOBS);
        uint64_t pause = prng_at(3, 0, n) % 3000, next = simdev_next(d);
        bool end = next <= now + pause;
        now = end ? next : now + pause;
        model_advance(&m, (double)now);
        uint32_t count = simdev_finished(d, now, ended);
        cr_assert_eq(count > 0, end, "at %lu", (unsigned long)now);
        for (uint32_t i = 0; i < count; i++) {
            cr_assert_lt(fabs(m.left[ended[i]]), 1.01, "%g of %u is left", m.left[ended[i]],
                         ended[i]);
            m.left[ended[i]] = -1;
        }
        for (uint32_t i = 0; i < JOBS; i++)
            cr_assert(m.left[i] == -1 || m.left[i] > -0.01, "%u should have ended", i);
        if (end || m.left[job] >= 0) continue;
        m.left[job] = (double)(1 + prng_at(4, 0, n) % 20000);
        simdev_start(d, now, job, (uint64_t)m.left[job]);
    }
    simdev_destroy(d);
}

/* ---- quantiles ------------------------------------------------------------------------------- */

Test(sim_latency, quantiles_are_within_their_buckets) {
    struct latency *l = calloc(1, sizeof(*l));
    cr_expect_eq(latency_quantile(l, 0.5), 0);
    for (uint64_t i = 1; i <= 100000; i++)
        latency_add(l, i * 1000);
    const double qs[] = {0.01, 0.5, 0.95, 0.99, 1};
    for (size_t i = 0; i < 5; i++)
        cr_expect_lt(fabs(latency_quantile(l, qs[i]) / (qs[i] * 1e8) - 1), 0.016, "%g: %g", qs[i],
                     latency_quantile(l, qs[i]));
    cr_expect_eq(l->sum_ns, 1000.0 * 100000 * 100001 / 2);
    latency_add(l, UINT64_MAX);
    latency_add(l, 0);
    free(l);
}
