/* SPDX-License-Identifier: Apache-2.0
 *
 * The forecast of the slack policy (forecast.h) compared with the simulated device (kdev.h), for
 * requests of random kernels that arrive while a random best-effort kernel runs.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "daemon/sched/policy/contention.h"
#include "daemon/sched/policy/forecast.h"
#include "daemon/sim/base/prng.h"
#include "daemon/sim/device/kdev.h"

#define SMS 80u
#define STEPS 16u
#define CASES 4000u
#define COMES_NS 1u /* arrival of the request: the best-effort kernel has just begun */

struct dice {
    uint64_t seed, drawn;
};

static uint32_t below(struct dice *d, uint32_t most) {
    return (uint32_t)(prng_unit(prng_at(d->seed, 0, d->drawn++)) * most);
}

static struct workload_kernel kernel(struct dice *d, uint32_t most_ns, uint32_t most_sms) {
    struct workload_kernel k = {.compute_milli = WORKLOAD_BY_CLASS,
                                .memory_milli = WORKLOAD_BY_CLASS};
    k.duration_ns = 2000 + below(d, most_ns);
    k.sms = 1 + below(d, most_sms);
    k.class = below(d, 3);
    return k;
}

static struct forecast_use use(const struct workload_kernel *k) {
    struct sched_kernel s = {.sms = k->sms, .class = k->class};
    return forecast_use(&s, k->duration_ns, SMS);
}

static const struct workload v100 = {.sms = SMS};

/* The time by which the device delays the request. */
static double seen(const struct workload_kernel *high, uint32_t count,
                   const struct workload_kernel *best) {
    const struct kdev_contention c = {.slots = CONTENTION_SLOTS / 1000.0,
                                      .left = CONTENTION_LEFT / 1000.0};
    struct kdev_work works[STEPS], other = kdev_work_of(&v100, best);
    struct kdev *d;
    uint32_t streams[2];
    uint64_t alone = 0, end = 0;
    cr_assert_eq(kdev_create(&d, &c, 2, STEPS), 0);
    kdev_push(d, 0, 1, &other, 0, 0);
    for (uint32_t i = 0; i < count; i++) {
        works[i] = kdev_work_of(&v100, &high[i]);
        kdev_push(d, COMES_NS, 0, &works[i], 0, 1);
        alone += high[i].duration_ns;
    }
    for (uint64_t at; (at = kdev_next(d)) != KDEV_NEVER;) {
        uint32_t ended = kdev_finished(d, at, streams);
        if (ended && streams[0] == 0) end = at;
    }
    kdev_destroy(d);
    return (double)(end - COMES_NS) - (double)alone;
}

static double reckoned(const struct workload_kernel *high, uint32_t count,
                       const struct workload_kernel *best) {
    struct forecast f = {0};
    const struct forecast_use nothing = {0};
    for (uint32_t i = 0; i < count; i++)
        forecast_began(&f, 0, use(&high[i]));
    forecast_over(&f);
    struct forecast_use left = use(best);
    double ns = (double)forecast_delay_of_next(&f, &left, &nothing, count);
    free(f.steps);
    return ns;
}

struct sums {
    double seen, reckoned, apart;
};

static struct sums compare(uint32_t most_ns, uint32_t least_sms, uint32_t most_sms) {
    struct sums s = {0};
    struct dice d = {.seed = 7};
    for (uint32_t n = 0; n < CASES; n++) {
        struct workload_kernel high[STEPS], best = kernel(&d, most_ns, most_sms - least_sms);
        uint32_t count = 1 + below(&d, STEPS - 1);
        best.sms += least_sms;
        for (uint32_t i = 0; i < count; i++)
            high[i] = kernel(&d, 40000, 120);
        double a = seen(high, count, &best), b = reckoned(high, count, &best);
        s.seen += a;
        s.reckoned += b;
        s.apart += fabs(a - b);
    }
    return s;
}

/* Except for rounding, both follow the same rules. */
static void expect_alike(const struct sums *s) {
    cr_expect_gt(s->seen / CASES, 10000, "there is nothing to reckon");
    cr_expect_lt(s->apart, 0.01 * s->seen, "%g of %g, reckoned %g", s->apart, s->seen, s->reckoned);
}

Test(sim_forecast, a_kernel_of_one_wave_delays_by_what_is_reckoned) {
    struct sums s = compare(400000, 0, SMS);
    expect_alike(&s);
}

Test(sim_forecast, a_kernel_of_many_waves_delays_by_what_is_reckoned) {
    struct sums s = compare(400000, SMS, 40 * SMS);
    expect_alike(&s);
}
