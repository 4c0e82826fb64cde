/* SPDX-License-Identifier: Apache-2.0
 *
 * The simulated cluster compared with a simulation that has no events: time advances in small
 * steps, and each step computes everything anew from the papers' rules. Also invariants of every
 * world.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/sim/base/prng.h"
#include "daemon/sim/place/fleet_run.h"
#include "test/lib/part.h"
#include "test/lib/place/fleet_rig.h"

#define JOBS 40u
#define GPUS 6u
#define TICK_S 0.0005
#define SEEDS 2u /* or SALUS_TEST_SEEDS: check-long uses more seeds */

static double draw(uint64_t seed, uint32_t n, uint32_t what) {
    return prng_unit(prng_at(seed, what, n));
}

static void fill(struct jobset *s, uint64_t seed, uint32_t jobs) {
    for (uint32_t i = 0; i < jobs; i++) {
        bool is_service = draw(seed, i, 1) < 0.5;
        struct jobset_job j = {.arrival_s = draw(seed, i, 2) * 20,
                               .length_s = 0.5 + draw(seed, i, 3) * 9,
                               .tasks = 1 + (draw(seed, i, 4) < 0.2),
                               .gpus = 1 + (draw(seed, i, 5) < 0.2),
                               .service = is_service,
                               .slo = is_service ? 0.8 + draw(seed, i, 6) * 2 : 1,
                               .is = {0.05 + 0.95 * draw(seed, i, 7), 1, 1}};
        cr_assert_eq(jobset_add_job(s, &j), 0);
    }
    cr_assert_eq(jobset_sort(s), 0);
}

/* ---- small steps ----------------------------------------------------------------------------- */

struct slow {
    const struct jobset *set;
    const struct fleet_rules *rules;
    const struct fleet_rig *rig; /* knows the GPUs of each job */
    double left_s[JOBS], end_s[JOBS];
};

static bool is_on(const struct slow *w, uint32_t job, uint32_t gpu, double now_s) {
    const struct jobset_job *j = &w->set->jobs[job];
    if (now_s < j->arrival_s || w->left_s[job] <= 0) return false;
    for (uint32_t n = 0; n < j->tasks * j->gpus; n++)
        if (fleet_rig_gpu(w->rig, job + 1, n) == gpu) return true;
    return false;
}

static double by_curve(const struct slow *w, uint32_t gpu, double now_s) {
    double util = 0;
    for (uint32_t i = 0; i < w->set->job_count; i++)
        if (is_on(w, i, gpu, now_s)) util += w->set->jobs[i].is.util;
    double x = fmax(0, util - 1);
    return 1 / (1 + w->rules->curve.a2 * x * x + w->rules->curve.a1 * x);
}

/* GPUColo's rule: services get what they were promised, then trainings what they can use, then
 * services the rest, up to their speed alone. */
static double by_shares(const struct slow *w, uint32_t gpu, uint32_t job, double now_s) {
    const struct jobset_job *me = &w->set->jobs[job];
    double promised = 0, wanted = 0, trainings = 0;
    for (uint32_t i = 0; i < w->set->job_count; i++) {
        const struct jobset_job *j = &w->set->jobs[i];
        if (!is_on(w, i, gpu, now_s)) continue;
        if (!j->service) trainings += j->is.util;
        if (j->service) promised += j->is.util / j->slo;
        if (j->service && j->slo > 1) wanted += j->is.util - j->is.util / j->slo;
    }
    if (promised > 1) return me->service ? 1 / me->slo / promised : 0;
    double left = 1 - promised, trained = fmin(left, trainings);
    if (!me->service) return trained / trainings;
    if (me->slo <= 1) return 1 / me->slo;
    double rest = fmin(1, (left - trained) / wanted);
    return 1 / me->slo + rest * (1 - 1 / me->slo);
}

static double speed(const struct slow *w, uint32_t job, double now_s) {
    const struct jobset_job *j = &w->set->jobs[job];
    double least = INFINITY;
    for (uint32_t n = 0; n < j->tasks * j->gpus; n++) {
        uint32_t gpu = fleet_rig_gpu(w->rig, job + 1, n);
        least = fmin(least, w->rules->speeds == FLEET_CURVE ? by_curve(w, gpu, now_s)
                                                            : by_shares(w, gpu, job, now_s));
    }
    return least;
}

static bool tick(struct slow *w, double now_s) {
    double worked[JOBS];
    bool busy = false;
    for (uint32_t i = 0; i < w->set->job_count; i++)
        worked[i] = now_s >= w->set->jobs[i].arrival_s && w->left_s[i] > 0
                        ? speed(w, i, now_s) * TICK_S
                        : 0;
    for (uint32_t i = 0; i < w->set->job_count; i++) {
        if (w->left_s[i] <= 0) continue;
        busy = true;
        w->left_s[i] -= worked[i];
        if (w->left_s[i] <= 0) w->end_s[i] = now_s + TICK_S;
    }
    return busy;
}

static double mean_turnaround(struct slow *w) {
    double sum = 0;
    for (uint32_t i = 0; i < w->set->job_count; i++)
        w->left_s[i] = w->set->jobs[i].length_s;
    for (uint64_t n = 0; tick(w, (double)n * TICK_S); n++)
        ;
    for (uint32_t i = 0; i < w->set->job_count; i++)
        sum += w->end_s[i] - w->set->jobs[i].arrival_s;
    return sum / w->set->job_count;
}

/* Both ends of an interval may be off by a tick, and each change of speed as well. */
static void beside_small_steps(enum fleet_speeds speeds, uint64_t seed) {
    struct fleet_rules rules = {.speeds = speeds, .curve = {1.2, 0.3, 0}};
    struct fleet_rig *rig = calloc(1, sizeof(*rig));
    struct fleet_placer placer = fleet_rig_placer(rig);
    struct fleet_result r;
    struct jobset set;
    char why[FLEET_WHY_BYTES];
    fleet_rig_nodes(&set, GPUS, 1000);
    fill(&set, seed, JOBS);
    cr_assert_eq(fleet_run(&set, &rules, &placer, &r, why), 0, "%s", why);
    struct slow w = {.set = &set, .rules = &rules, .rig = rig};
    double slow_s = mean_turnaround(&w), last_s = 0;
    for (uint32_t i = 0; i < JOBS; i++)
        last_s = fmax(last_s, w.end_s[i]);
    cr_expect_float_eq(r.jct_s.mean, slow_s, 0.01, "%llu: %g, %g", (unsigned long long)seed,
                       r.jct_s.mean, slow_s);
    cr_expect_float_eq(r.makespan_s, last_s - set.jobs[0].arrival_s, 0.02);
    fleet_result_finish(&r);
    jobset_finish(&set);
    free(rig);
}

static uint64_t count_seeds(void) {
    const char *said = getenv("SALUS_TEST_SEEDS");
    return said ? strtoull(said, NULL, 10) : part_of(SEEDS);
}

Test(fleet_slow, curve_is_as_in_small_steps) {
    for (uint64_t seed = 0; seed < count_seeds(); seed++)
        beside_small_steps(FLEET_CURVE, seed);
}

Test(fleet_slow, shares_are_as_in_small_steps) {
    for (uint64_t seed = 0; seed < count_seeds(); seed++)
        beside_small_steps(FLEET_SHARES, seed);
}

/* ---- invariants ------------------------------------------------------------------------------ */

static struct fleet_result random_world(uint64_t seed, struct fleet_rig *rig) {
    struct fleet_rules rules = {.speeds = seed % 2 ? FLEET_CURVE : FLEET_SHARES,
                                .curve = {1.2, 0.3, 0},
                                .begin_ns = (int64_t)(seed % 3) * 100000000,
                                .memory_end_ns = (int64_t)(seed % 4) * 300000000,
                                .keep_ns = (int64_t)(seed % 5) * 500000000,
                                .memory = seed % 7 < 3 ? PLACE_MEMORY_LANES : PLACE_MEMORY_SUM,
                                .measure_ns = 250000000,
                                .measure_needs = seed % 2,
                                .measure_speed = seed % 3 == 1};
    struct jobset set;
    struct fleet_result r;
    char why[FLEET_WHY_BYTES];
    memset(rig, 0, sizeof(*rig));
    rig->limit = 1 + seed % 4;
    rig->stop = 1 + seed % 10;
    rig->stop_ns = INT64_MAX;
    rig->refuse = true;
    struct fleet_placer placer = fleet_rig_placer(rig);
    fleet_rig_nodes(&set, GPUS, 3 + seed % 4);
    fill(&set, seed, 120);
    cr_assert_eq(fleet_run(&set, &rules, &placer, &r, why), 0, "%s", why);
    jobset_finish(&set);
    return r;
}

/* All work is a job's, set-up or lost; every job ends once or is refused. */
Test(fleet_slow, work_is_conserved_and_every_job_ends_once) {
    struct fleet_rig *rig = calloc(1, sizeof(*rig));
    for (uint64_t seed = 0; seed < 300; seed++) {
        struct fleet_result r = random_world(seed, rig);
        double sum = r.work_gpu_s + r.set_up_gpu_s + r.lost_gpu_s;
        cr_expect_float_eq(r.worked_gpu_s, sum, 1e-6 * sum, "%llu: %.9f, %.9f",
                           (unsigned long long)seed, r.worked_gpu_s, sum);
        cr_expect_eq(r.ended + r.refused, 120);
        for (uint32_t i = 1; i <= 120; i++)
            cr_expect_eq(rig->ends[i] + rig->memory[i], 1);
        cr_expect(r.util >= 0 && r.util <= 1 + 1e-9);
        cr_expect(r.used_gpus <= GPUS);
        fleet_result_finish(&r);
    }
    free(rig);
}

Test(fleet_slow, the_same_gives_the_same) {
    struct fleet_rig *rig = calloc(1, sizeof(*rig));
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct fleet_result a = random_world(seed, rig), b = random_world(seed, rig);
        cr_expect_eq(a.day_count, b.day_count);
        fleet_result_finish(&a);
        fleet_result_finish(&b);
        cr_expect_eq(memcmp(&a, &b, sizeof(a)), 0);
    }
    free(rig);
}
