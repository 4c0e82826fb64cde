/* SPDX-License-Identifier: Apache-2.0
 *
 * From a scheduler's events to a workload of kernels (daemon/ctl/record/kernel_trace.h), in times
 * computed by hand; and any input that is read becomes a workload that the simulator accepts.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/ctl/record/kernel_trace.h"
#include "daemon/ctl/record/recording.h"
#include "daemon/sim/base/prng.h"
#include "daemon/sim/workload/workload_file.h"

#define US 1000ul

static struct kernel_trace read_trace(const char *text) {
    struct kernel_trace t;
    FILE *f = fmemopen((char *)text, strlen(text), "r");
    kernel_trace_init(&t);
    cr_assert_eq(kernel_trace_read(&t, f), 0);
    fclose(f);
    return t;
}

static void add_job(struct recording *r, uint64_t id, const char *name, const char *boundaries) {
    struct ctl_job j = {.id = id,
                        .since_ns = 1000,
                        .persistent_bytes = 1 << 20,
                        .busy_ns = 1,
                        .iterations = 3,
                        .iteration_ns = 1};
    snprintf(j.name, sizeof(j.name), "%s", name);
    snprintf(j.boundaries, sizeof(j.boundaries), "%s", boundaries);
    cr_assert_eq(recording_see(r, &j), 0);
}

static char *written(struct recording *r, const struct kernel_trace *t) {
    char *text = NULL;
    size_t bytes;
    FILE *f = open_memstream(&text, &bytes);
    r->kernels = t;
    r->device_bytes = 1 << 30;
    recording_write(r, f, 0);
    fclose(f);
    return text;
}

/* A workload without jobs is invalid. */
static void expect_valid(const char *text) {
    struct workload w;
    struct buf errors;
    buf_init(&errors);
    if (workload_parse(&w, text, strlen(text), &errors))
        cr_expect(!strstr(text, "\njob "), "%s in:\n%s", buf_str(&errors), text);
    workload_finish(&w);
    buf_finish(&errors);
}

/* ---- one job --------------------------------------------------------------------------------- */

/* Admitted at 1 ms. The first iteration has a fill of its own. Three equal ones follow, 100 us
 * each: two kernels launched at once, which take 30 and 40, and a copy after 5 us of waiting,
 * then 15 us of host time. The last one has more host time at its end. The second one is delayed
 * by `held_ns` before its copy. */
static char *trainer_held_up(uint64_t held_ns) {
    char *text = NULL;
    size_t bytes;
    FILE *f = open_memstream(&text, &bytes);
    uint64_t at = 1500 * US;
    fputs("salus-events 1\nconfig capacity=1 chunk=1 sms=16 share_users=0 "
          "policy()\n@1000000\n+7w1i5\n"
          "> admit 7@0\n@1200000\n7:1\n> run 7:1\n@1250000\n7=1*50000\n",
          f);
    for (int i = 0; i < 4; i++, at += 100 * US) {
        fprintf(f, "@%lu\n7|\n7:1/%d#c8*99~99%%700,200\n> run 7:1\n7:2/%d#u32*99\n> run 7:2\n", at,
                i, i);
        fprintf(f, "@%lu\n7=1*15000\n@%lu\n7=2*20000\n", at + 30 * US, at + 70 * US);
        if (i == 1) at += held_ns;
        fprintf(f, "@%lu\n7:3/%d\n> run 7:3\n", at + 75 * US, i);
        fprintf(f, "@%lu\n7=3*5000\n", at + 85 * US);
    }
    fprintf(f, "@%lu\n-7\nend\n", at + 450 * US);
    fclose(f);
    return text;
}

static char *trainer(void) {
    return trainer_held_up(0);
}

Test(sim_recorded, an_iteration_is_what_most_of_them_are) {
    char *text = trainer();
    struct kernel_trace t = read_trace(text);
    const struct kernel_trace_job *j = kernel_trace_find(&t, 7);
    cr_assert_not_null(j);
    cr_expect_eq(j->boundaries, 4);
    cr_expect_eq(t.lines_bad, 0);
    const struct kernel_trace_shape *s = kernel_trace_usual(j);
    cr_assert_not_null(s);
    cr_assert_eq(s->count, 3);
    cr_expect_eq(s->iterations, 3, "the first's beginning and the last's end were not seen");
    cr_expect_eq(kernel_trace_alone_ns(&s->ops[0]), 30 * US);
    cr_expect_eq(kernel_trace_alone_ns(&s->ops[1]), 40 * US, "from the end of the one before");
    cr_expect_eq(kernel_trace_alone_ns(&s->ops[2]), 10 * US);
    cr_expect_eq(s->tail_ns / 3, 15.0 * US);
    /* 40 of the 80 us in which any operation was on the device */
    cr_expect_eq(kernel_trace_use_milli(j), (3 * 40 + 50 + 40) * 1000 / (3 * 80 + 50 + 80));
    kernel_trace_finish(&t);
    free(text);
}

Test(sim_recorded, it_is_written_with_what_its_client_does_around_it) {
    char *text = trainer();
    struct kernel_trace t = read_trace(text);
    struct recording r;
    recording_init(&r);
    add_job(&r, 7, "train", "marks");
    char *file = written(&r, &t);
    /* 500 us to the first boundary, and 550 from the last, minus 100. Before the first there was
     * only a fill: that is no iteration, although the daemon counted it. */
    cr_expect_str_eq(
        file,
        "# recorded by salusctl\n"
        "device memory=1GiB sms=16\n"
        "# sequence of 3 of 3 iterations; 100 % of the times were measured while the job was alone "
        "on the device\n"
        "kernels name=job7\n"
        "k 30us sms=8 class=compute compute=0.700 memory=0.200\n"
        "k 40us sms=32 class=unknown\n"
        "w\nh 5us\n"
        "c 10us\n"
        "h 15us\n"
        "job name=train arrival=0 persistent=1MiB ephemeral=0 iterations=2 kernels=job7 "
        "start=500us finish=450us hint=none\n",
        "%s", file);
    expect_valid(file);
    r.soft = true;
    free(file);
    file = written(&r, &t);
    cr_expect_not_null(strstr(file, " sliced=yes wait="), "%s", file);
    cr_expect_not_null(strstr(file, "c 10us use=0.5"), "%s", file);
    expect_valid(file);
    recording_finish(&r);
    kernel_trace_finish(&t);
    free(file);
    free(text);
}

/* The start has no boundary of its own, because the first mark comes from a job that has
 * launched nothing. */
Test(sim_recorded, a_first_iteration_is_not_of_the_start) {
    struct kernel_trace t = read_trace(
        "@1000\n> admit 1@0\n@2000\n1:1#c8\n> run 1:1\n@3000\n1=1\n@4000\n1|\n1:1#c8\n> run 1:1\n"
        "@5000\n1=1\n@5500\n1|\n1:1#c8\n> run 1:1\n@6500\n1=1\n@9000\n-1\nend\n");
    struct recording r;
    recording_init(&r);
    add_job(&r, 1, "train", "marks");
    char *file = written(&r, &t);
    /* 3 us to the first boundary, minus 1.5; 2.5 after the last operation, minus 0.5 */
    cr_expect_not_null(strstr(file, " iterations=3 kernels=job1 start=1500ns finish=2us "), "%s",
                       file);
    recording_finish(&r);
    kernel_trace_finish(&t);
    free(file);
}

/* As on a busy machine: a delayed iteration does not shorten the time after the last one. */
Test(sim_recorded, what_held_an_iteration_up_is_not_of_its_end) {
    char *text = trainer_held_up(5000 * US), *file;
    struct kernel_trace t = read_trace(text);
    struct recording r;
    recording_init(&r);
    add_job(&r, 7, "train", "marks");
    file = written(&r, &t);
    cr_expect_not_null(strstr(file, " kernels=job7 start=500us finish=450us hint=none\n"), "%s",
                       file);
    expect_valid(file);
    recording_finish(&r);
    kernel_trace_finish(&t);
    free(file);
    free(text);
}

/* A last iteration that was cut short has no end of its own. */
Test(sim_recorded, without_its_end_the_last_iteration_takes_as_long_as_usual) {
    char *text = trainer(), *last = strstr(text, "7=3*5000\n@2350000\n-7"), *file;
    struct kernel_trace t;
    struct recording r;
    cr_assert_not_null(last);
    memcpy(last, "#", 1);
    t = read_trace(text);
    recording_init(&r);
    add_job(&r, 7, "train", "marks");
    file = written(&r, &t);
    cr_expect_not_null(strstr(file, " start=500us finish=450us "), "%s", file);
    recording_finish(&r);
    kernel_trace_finish(&t);
    free(file);
    free(text);
}

Test(sim_recorded, the_commonest_shape_is_taken) {
    struct kernel_trace t = read_trace("@1\n1|\n1:1#c4\n> run 1:1\n@2\n1=1\n1|\n"
                                       "1:1#c8\n> run 1:1\n@3\n1=1\n1|\n"
                                       "1:1#c8\n> run 1:1\n@4\n1=1\n1|\n");
    const struct kernel_trace_shape *s = kernel_trace_usual(kernel_trace_find(&t, 1));
    cr_assert_not_null(s);
    cr_expect_eq(s->ops->sms, 8);
    cr_expect_eq(s->iterations, 2);
    kernel_trace_finish(&t);
}

/* One job launches a kernel of 10 us every 30 us, independently of the kernel before. Another
 * launches it 20 us after the kernel before has ended. They can be told apart because the
 * kernels' times vary. */
Test(sim_recorded, what_waits_is_told_by_what_varies_less) {
    for (int waits = 0; waits < 2; waits++) {
        char *text = NULL;
        size_t bytes;
        FILE *f = open_memstream(&text, &bytes);
        uint64_t at = 1000 * US, host_ns;
        for (int i = 0; i < 20; i++) {
            uint64_t took = (6 + 4 * (uint64_t)(i % 3)) * US;
            uint64_t second = at + (waits ? took + 20 * US : 30 * US);
            fprintf(f, "@%lu\n3|\n3:1/%d#u4\n> run 3:1\n@%lu\n3=1*5\n", at, i, at + took);
            fprintf(f, "@%lu\n3:1/%d#u4\n> run 3:1\n@%lu\n3=1*5\n", second, i, second + 10 * US);
            at = second + 12 * US;
        }
        fprintf(f, "@%lu\n3|\n", at);
        fclose(f);
        struct kernel_trace t = read_trace(text);
        const struct kernel_trace_shape *s = kernel_trace_usual(kernel_trace_find(&t, 3));
        cr_assert_not_null(s);
        cr_expect_eq(kernel_trace_waits(&s->ops[1], &host_ns), waits == 1);
        cr_expect_eq(host_ns, waits ? 20 * US : 30 * US);
        kernel_trace_finish(&t);
        free(text);
    }
}

/* ---- two jobs -------------------------------------------------------------------------------- */

/* The second iteration of job 1 runs beside a kernel of job 2, and takes twice as long. */
static const char beside[] =
    "@1000\n1|\n2|\n1:1/1#c4*777\n> run 1:1\n@11000\n1=1*9\n1|\n1:1/2#c4*777\n> run 1:1\n@12000\n"
    "2:9/1#m4*55\n> run 2:9\n@31000\n1=1*9\n1|\n@32000\n2=9*9\n2|\n1:1/3#c4*777\n> run 1:1\n"
    "@42000\n1=1*9\n1|\n-1\n-2\n";

Test(sim_recorded, times_are_those_of_a_job_alone) {
    struct kernel_trace t = read_trace(beside);
    const struct kernel_trace_shape *one = kernel_trace_usual(kernel_trace_find(&t, 1));
    const struct kernel_trace_shape *two = kernel_trace_usual(kernel_trace_find(&t, 2));
    cr_assert(one && two);
    cr_expect_eq(one->ops->count, 3);
    cr_expect_eq(one->ops->alone, 2);
    cr_expect_eq(kernel_trace_alone_ns(one->ops), 10000);
    cr_expect_eq(two->ops->alone, 0);
    cr_expect_eq(kernel_trace_alone_ns(two->ops), 55, "as the worker had learnt");
    kernel_trace_finish(&t);
}

Test(sim_recorded, waiting_for_a_turn_is_no_time_of_the_host) {
    /* The second one was submitted when the first had its turn, 50 us late, and 3 us after that. */
    struct kernel_trace t =
        read_trace("@1000\n1|\n1:1/1#c4\n@51000\n> run 1:1\n@54000\n1:2/1#c4\n> run 1:2\n"
                   "@61000\n1=1*9\n@71000\n1=2*9\n1|\n");
    const struct kernel_trace_shape *s = kernel_trace_usual(kernel_trace_find(&t, 1));
    uint64_t host_ns;
    cr_assert_not_null(s);
    cr_expect_not(kernel_trace_waits(&s->ops[1], &host_ns));
    cr_expect_eq(host_ns, 3000);
    kernel_trace_finish(&t);
}

/* ---- requests, and jobs without boundaries --------------------------------------------------- */

Test(sim_recorded, requests_have_a_time_to_think) {
    char *text = NULL;
    size_t bytes;
    FILE *f = open_memstream(&text, &bytes);
    uint64_t at = 1000 * US;
    for (int i = 0; i < 10; i++, at += 110 * US)
        fprintf(f, "@%lu\n5:1/%d#u4\n> run 5:1\n@%lu\n5=1*5\n@%lu\n5|\n", at, i, at + 10 * US,
                at + 60 * US);
    fclose(f);
    struct kernel_trace t = read_trace(text);
    struct recording r;
    recording_init(&r);
    add_job(&r, 5, "serve", "idle gaps");
    char *file = written(&r, &t);
    cr_expect_not_null(strstr(file, "kernels=job5 think=100us hint"), "%s", file);
    expect_valid(file);
    recording_finish(&r);
    kernel_trace_finish(&t);
    free(file);
    free(text);
}

Test(sim_recorded, what_has_no_boundaries_is_one_iteration) {
    struct kernel_trace t =
        read_trace("@1000\n> admit 4@0\n@2000\n4:1#c4\n> run 4:1\n@5000\n4=1*9\n4:1\n> run 4:1\n"
                   "@6000\n4=1*9\n@9000\n-4\n");
    struct recording r;
    recording_init(&r);
    add_job(&r, 4, "once", "");
    r.jobs->job.iterations = 0;
    char *file = written(&r, &t);
    cr_expect_not_null(strstr(file, "k 3us sms=4 class=compute\nw\nc 1us\njob name=once"), "%s",
                       file);
    cr_expect_not_null(strstr(file, "iterations=1 kernels=job4 start=1us finish=3us hint=none "
                                    "boundaries=no"),
                       "%s", file);
    expect_valid(file);
    recording_finish(&r);
    kernel_trace_finish(&t);
    free(file);
}

/* ---- values that jobs control ---------------------------------------------------------------- */

Test(sim_recorded, a_name_says_nothing_to_the_file) {
    struct kernel_trace t = read_trace(beside);
    struct recording r;
    recording_init(&r);
    add_job(&r, 1, "x iterations=1\njob name=y # \xff", "marks");
    char *file = written(&r, &t);
    cr_expect_not_null(strstr(file, "job name=x_iterations_1_job_name_y____ arrival="), "%s", file);
    expect_valid(file);
    recording_finish(&r);
    kernel_trace_finish(&t);
    free(file);
}

Test(sim_recorded, what_is_out_of_bounds_is_brought_within) {
    struct kernel_trace t = read_trace(
        "@1\n1|\n1:1/1#c4294967295*18446744073709551615%4294967295,4294967295\n> run 1:1\n"
        "@18446744073709551615\n1=1*18446744073709551615\n1|\n");
    struct recording r;
    recording_init(&r);
    r.soft = true;
    add_job(&r, 1, "", "marks");
    char *file = written(&r, &t);
    cr_expect_not_null(strstr(file, "k 60min sms=100000000 class=compute compute=1 memory=1"), "%s",
                       file);
    expect_valid(file);
    recording_finish(&r);
    kernel_trace_finish(&t);
    free(file);
}

Test(sim_recorded, a_device_larger_than_any_is_not_told) {
    struct kernel_trace t = read_trace("config capacity=1 chunk=1 sms=65537\n");
    cr_expect_eq(t.sms, 0);
    kernel_trace_finish(&t);
    t = read_trace("config capacity=1 chunk=1 sms=65536\n");
    cr_expect_eq(t.sms, 65536);
    kernel_trace_finish(&t);
}

/* Numbers of every size, and the largest. */
static uint64_t any(uint64_t seed, uint64_t *n) {
    uint64_t bits = prng_at(seed, 0, ++*n);
    return bits % 16 == 0 ? UINT64_MAX : prng_at(seed, 1, *n) >> (bits >> 8) % 64;
}

static void see_any(struct recording *r, uint64_t id, uint64_t seed, uint64_t *n) {
    static const char *const boundaries[] = {"marks", "idle gaps", ""};
    static const char *const reservations[] = {"given", "profile", "default"};
    struct ctl_job j = {0};
    int count;
    const struct ctl_field *fields = ctl_fields(CTL_RECORD_JOB, &count);
    for (int i = 0; i < count; i++)
        if (fields[i].kind != CTL_KIND_TEXT)
            *(uint64_t *)((char *)&j + fields[i].offset) = any(seed, n);
    j.id = id;
    snprintf(j.boundaries, sizeof(j.boundaries), "%s", boundaries[any(seed, n) % 3]);
    snprintf(j.reservation, sizeof(j.reservation), "%s", reservations[any(seed, n) % 3]);
    cr_assert_eq(recording_see(r, &j), 0);
}

Test(sim_recorded, whatever_is_counted_is_a_workload) {
    size_t kernels = 0, iterations = 0;
    for (uint64_t seed = 1, n = 0; seed <= 2000; seed++) {
        char *text = trainer(), *file;
        struct kernel_trace t = read_trace(text);
        struct recording r;
        recording_init(&r);
        see_any(&r, 7, seed, &n);
        see_any(&r, 8, seed, &n);
        file = written(&r, seed % 2 ? &t : NULL);
        expect_valid(file);
        *(seed % 2 ? &kernels : &iterations) += strstr(file, "\njob ") != NULL;
        recording_finish(&r);
        kernel_trace_finish(&t);
        free(file);
        free(text);
    }
    cr_expect(kernels > 100 && iterations > 100, "%zu and %zu of 1000 with a job", kernels,
              iterations);
}

/* The jobs last 20 years each, and a workload may last 36. */
Test(sim_recorded, of_jobs_that_together_are_too_long_the_first_are_written) {
    struct recording r;
    recording_init(&r);
    for (uint64_t id = 1; id <= 2; id++) {
        add_job(&r, id, id == 1 ? "first" : "second", "marks");
        r.jobs[id - 1].job.iterations = 1000000;
        r.jobs[id - 1].job.busy_ns = 630720000ul * 1000000000ul;
    }
    char *file = written(&r, NULL);
    cr_expect_not_null(strstr(file, "\njob name=first "), "%s", file);
    cr_expect_not_null(strstr(file, "# second, job 2: the job and those before it take more than"),
                       "%s", file);
    expect_valid(file);
    recording_finish(&r);
    free(file);
}

Test(sim_recorded, an_iteration_without_an_end_takes_no_more_than_its_room) {
    char *text = NULL;
    size_t bytes;
    FILE *f = open_memstream(&text, &bytes);
    fputs("@1000\n1|\n", f);
    for (unsigned i = 0; i < KERNEL_TRACE_OPS + 10; i++)
        fprintf(f, "1:1/1\n> run 1:1\n1=1*1\n");
    fputs("1|\n1:1/2\n> run 1:1\n1=1*1\n1|\n", f);
    for (unsigned i = 0; i < KERNEL_TRACE_IN_FLIGHT + 10; i++)
        fprintf(f, "1:%u/3\n", i);
    fputs("1|\n1|\n1|\n1|\n1|\n1|\n", f);
    for (unsigned i = 0; i < 2 * KERNEL_TRACE_JOBS; i++)
        fprintf(f, "%u:1/3\n", i);
    fclose(f);
    struct kernel_trace t = read_trace(text);
    const struct kernel_trace_job *j = kernel_trace_find(&t, 1);
    const struct kernel_trace_shape *s = kernel_trace_usual(j);
    cr_assert_not_null(s);
    cr_expect_eq(s->count, 1);
    cr_expect_eq(s->iterations, 1);
    cr_expect_eq(j->dropped, 2, "%u", j->dropped);
    cr_expect_eq(t.count, KERNEL_TRACE_JOBS);
    cr_expect_gt(t.jobs_dropped, 0);
    kernel_trace_finish(&t);
    free(text);
}

Test(sim_recorded, lines_that_are_none_are_passed_over) {
    struct kernel_trace t =
        read_trace("@5\n@4\n@x\n1:\n1:2/\n1:2#q4\n1=\n1:2x\n> run 1\n> admit 1:2\n"
                   "1:99999999999999999999\n:00ff\n\n#\n1|x\n-\n> run 9:9\n9=9\n");
    cr_expect_eq(t.lines_bad, 11, "%lu", (unsigned long)t.lines_bad);
    cr_expect_eq(t.now_ns, 5);
    kernel_trace_finish(&t);
}
