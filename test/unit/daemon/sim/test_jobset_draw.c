/* SPDX-License-Identifier: Apache-2.0
 *
 * Jobs that are drawn by rules satisfy the rules, and the requests that the placer sees have the
 * intended error.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#include "daemon/sim/place/jobset_draw.h"

#define GIB 1073741824.0

static struct jobset drawn(struct jobset_draw draw, uint32_t gpus) {
    struct jobset s;
    char why[100];
    jobset_init(&s);
    cr_assert_eq(jobset_add_gpus(&s, gpus, 4, 16ull << 30), 0);
    cr_assert_eq(jobset_draw(&s, &draw, why, sizeof(why)), 0, "%s", why);
    for (uint32_t i = 1; i < s.job_count; i++)
        cr_assert(s.jobs[i].arrival_s >= s.jobs[i - 1].arrival_s);
    return s;
}

static double bytes_of(const struct jobset_job *j) {
    return (double)(j->is.persistent_bytes + j->is.ephemeral_bytes);
}

/* Checked over many seeds, because the rules state means. */
Test(jobset_draw, horus_jobs_are_as_the_rules_say) {
    double length_s = 0, util = 0;
    uint32_t is_long = 0, count = 0;
    for (uint64_t seed = 0; seed < 100; seed++) {
        struct jobset s = drawn((struct jobset_draw){.kind = "horus-large", .seed = seed}, 12);
        cr_assert_eq(s.job_count, 100);
        for (uint32_t i = 0; i < 100; i++, count++) {
            const struct jobset_job *j = &s.jobs[i];
            cr_assert(j->length_s >= 180 && j->length_s <= 7200);
            cr_assert(j->is.util >= 0.05 && j->is.util <= 1);
            cr_assert(bytes_of(j) >= 0.59 * GIB && bytes_of(j) <= 7.5 * GIB);
            cr_assert(j->tasks == 1 && j->gpus == 1 && !j->service);
            length_s += j->length_s;
            util += j->is.util;
            is_long += j->length_s > 800;
        }
        jobset_finish(&s);
    }
    cr_expect_float_eq(length_s / count, 1914, 40);
    cr_expect_float_eq(util / count, 0.515, 0.01);
    cr_expect_float_eq(is_long / (double)count, 0.6, 0.02);
}

Test(jobset_draw, a_trace_asks_for_many_gpus) {
    struct jobset s = drawn((struct jobset_draw){.kind = "horus-trace", .seed = 5}, 1024);
    uint32_t single = 0, gpus = 0;
    cr_assert_eq(s.job_count, 398);
    for (uint32_t i = 0; i < s.job_count; i++) {
        single += s.jobs[i].tasks * s.jobs[i].gpus == 1;
        gpus += s.jobs[i].tasks * s.jobs[i].gpus;
        cr_expect_eq(s.jobs[i].arrival_s, 0);
    }
    cr_expect(single > 170 && single < 230);
    cr_expect_float_eq(gpus / 398.0, 5.5, 1);
    jobset_finish(&s);
}

Test(jobset_draw, a_day_has_the_load_that_was_asked_for) {
    struct jobset s = drawn((struct jobset_draw){.kind = "day", .jobs = 5000, .load = 0.5}, 100);
    double asked_s = 0;
    uint32_t services = 0;
    cr_assert_eq(s.job_count, 5000);
    for (uint32_t i = 0; i < s.job_count; i++) {
        asked_s += s.jobs[i].length_s * s.jobs[i].tasks * s.jobs[i].gpus;
        services += s.jobs[i].service;
        cr_assert(s.jobs[i].arrival_s >= 0 && s.jobs[i].arrival_s < 86400);
    }
    cr_expect_float_eq(asked_s / (100 * 86400.0), 0.5, 0.01);
    cr_expect_float_eq(services / 5000.0, 0.25, 0.03);
    jobset_finish(&s);
}

/* Two pods: a service of 1000 s and a training of 3000 s on two GPUs. */
static struct jobset two_pods(void) {
    struct jobset s;
    struct jobset_job job = {
        .length_s = 1000, .tasks = 1, .gpus = 1, .service = true, .slo = 1, .is = {.util = 0.4}};
    jobset_init(&s);
    cr_assert_eq(jobset_add_job(&s, &job), 0);
    job.length_s = 3000;
    job.tasks = 2;
    job.service = false;
    cr_assert_eq(jobset_add_job(&s, &job), 0);
    return s;
}

Test(jobset_draw, services_come_twice_as_often_while_it_is_busy) {
    struct jobset pods = two_pods();
    struct jobset_draw draw = {
        .kind = "gpucolo", .seed = 2, .pods = &pods, .slo = 0.96, .mean_gpus = 50};
    struct jobset s = drawn(draw, 100);
    double services[3] = {0}, trainings[3] = {0}, used_s = 0;
    for (uint32_t i = 0; i < s.job_count; i++) {
        const struct jobset_job *j = &s.jobs[i];
        double day = j->arrival_s / 86400;
        uint32_t part = day < 20 ? 0 : day < 40 ? 1 : 2;
        used_s += j->length_s * j->tasks * j->gpus;
        *(j->service ? &services[part] : &trainings[part]) += 1;
        cr_assert_float_eq(j->slo, 0.96, 1e-12);
        cr_assert(j->arrival_s < 57 * 86400);
    }
    cr_expect_float_eq(used_s / (57 * 86400), 50, 2, "%g", used_s / (57 * 86400));
    cr_expect_float_eq(services[0] / trainings[0], 3, 0.15);
    cr_expect_float_eq(services[2] / trainings[2], 3, 0.15);
    cr_expect_float_eq(services[1] / trainings[1], 6, 0.3);
    jobset_finish(&s);
    jobset_finish(&pods);
}

Test(jobset_draw, what_is_missing_is_said) {
    struct jobset s, empty;
    char why[100];
    jobset_init(&s);
    jobset_init(&empty);
    cr_expect_eq(jobset_draw(&s, &(struct jobset_draw){.kind = "x"}, why, sizeof(why)), -EINVAL);
    cr_expect_str_eq(why, "the kind is unknown; salus-sim --help lists the kinds");
    struct jobset_draw draw = {.kind = "gpucolo"};
    cr_expect_eq(jobset_draw(&s, &draw, why, sizeof(why)), -EINVAL);
    cr_expect(strstr(why, "--pods"));
    draw.pods = &empty;
    cr_expect_eq(jobset_draw(&s, &draw, why, sizeof(why)), -EINVAL);
    cr_expect_str_eq(why, "the table of pods must have both services and trainings");
    jobset_finish(&s);
}

/* The root mean square of the errors of the logarithms. */
Test(jobset_draw, what_is_told_is_off_as_it_is_to_be) {
    struct jobset s = drawn((struct jobset_draw){.kind = "day", .jobs = 20000}, 100);
    double squares = 0, memory = 0;
    uint32_t free_ones = 0;
    s.jobs[7].told = (struct jobset_need){0.77, 5, 6};
    jobset_tell(&s, &(struct jobset_error){.util = 0.133, .memory = 0.05, .seed = 9});
    for (uint32_t i = 0; i < s.job_count; i++) {
        const struct jobset_job *j = &s.jobs[i];
        double told = (double)(j->told.persistent_bytes + j->told.ephemeral_bytes);
        cr_assert(j->told.util > 0 && j->told.util <= 1);
        if (i == 7 || j->is.util > 0.6) continue; /* above that, the limit of 1 truncates it */
        squares += pow(log(j->told.util / j->is.util), 2);
        memory += pow(log(told / bytes_of(j)), 2);
        free_ones++;
    }
    cr_expect_float_eq(sqrt(squares / free_ones), 0.133, 0.005);
    cr_expect_float_eq(sqrt(memory / free_ones), 0.05, 0.002);
    cr_expect(s.jobs[7].told.util == 0.77 && s.jobs[7].told.persistent_bytes == 5,
              "what was told before stays");
    jobset_finish(&s);
}

/* Every file that is written can be read again. */
Test(jobset_draw, what_is_told_is_within_its_range) {
    struct jobset s;
    struct jobset_job job = {.length_s = 1, .tasks = 1, .gpus = 1};
    jobset_init(&s);
    for (uint32_t i = 0; i < 100; i++) {
        job.is.util = i % 2 ? JOBSET_UTIL_LEAST : 1;
        cr_assert_eq(jobset_add_job(&s, &job), 0);
    }
    jobset_tell(&s, &(struct jobset_error){.util = 0.5, .seed = 1});
    for (uint32_t i = 0; i < 100; i++)
        cr_expect(s.jobs[i].told.util >= JOBSET_UTIL_LEAST && s.jobs[i].told.util <= 1);
    jobset_finish(&s);
}

Test(jobset_draw, without_an_error_the_truth_is_told) {
    struct jobset s = drawn((struct jobset_draw){.kind = "day", .jobs = 100}, 100);
    jobset_tell(&s, &(struct jobset_error){0});
    for (uint32_t i = 0; i < s.job_count; i++)
        cr_expect_eq(memcmp(&s.jobs[i].told, &s.jobs[i].is, sizeof(s.jobs[i].is)), 0);
    jobset_finish(&s);
}

Test(jobset_draw, the_order_of_those_that_come_together_stays) {
    struct jobset s;
    struct jobset_job job = {.length_s = 1, .tasks = 1, .gpus = 1};
    jobset_init(&s);
    for (uint32_t i = 0; i < 1000; i++) {
        job.arrival_s = i * 7919 % 10;
        job.cpu_milli = i;
        cr_assert_eq(jobset_add_job(&s, &job), 0);
    }
    cr_assert_eq(jobset_sort(&s), 0);
    for (uint32_t i = 1; i < 1000; i++) {
        const struct jobset_job *a = &s.jobs[i - 1], *b = &s.jobs[i];
        cr_assert(a->arrival_s < b->arrival_s ||
                  (a->arrival_s == b->arrival_s && a->cpu_milli < b->cpu_milli));
    }
    jobset_finish(&s);
}
