/* SPDX-License-Identifier: Apache-2.0
 *
 * Workload files with single kernels: sequences, gaps, the jobs that name them, and every error
 * with its line.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/sim/workload/workload_file.h"

#define LITTLE "persistent=1MiB ephemeral=1MiB"

static int parse(struct workload *w, const char *text, char *errors, size_t cap) {
    struct buf b;
    buf_init(&b);
    int err = workload_parse(w, text, strlen(text), &b);
    snprintf(errors, cap, "%s", buf_str(&b));
    buf_finish(&b);
    return err;
}

static struct workload load(const char *text) {
    struct workload w;
    char errors[1024];
    cr_assert_eq(parse(&w, text, errors, sizeof(errors)), 0, "%s", errors);
    return w;
}

static void expect_errors(const char *text, const char *expected) {
    struct workload w;
    char errors[16384];
    cr_expect_eq(parse(&w, text, errors, sizeof(errors)), -EINVAL);
    cr_expect_str_eq(errors, expected, "got:\n%s", errors);
    workload_finish(&w);
}

Test(sim_workload_kernels, a_sequence_and_what_the_scheduler_is_told_of_it) {
    struct workload w =
        load("job name=j kernels=a iterations=2 launch=5us request=6.5ms " LITTLE "\n"
             "kernels name=other\nk 1ns sms=1\n"
             "kernels name=a # in launch order\n"
             "k 100us sms=160 class=compute compute=0.62 memory=0.18\n"
             "k 40us sms=20 class=memory\n"
             "c 30us\n"
             "device sms=40 dispatch=3us slice=40us until=2s\n");
    cr_expect_eq(w.sms, 40);
    cr_expect_eq(w.dispatch_ns, 3000);
    cr_expect_eq(w.slice_ns, 40000);
    cr_expect_eq(w.until_ns, 2000000000);
    cr_assert_eq(w.sequences_count, 2);
    cr_assert_eq(w.jobs->sequence, 1);
    const struct workload_sequence *q = &w.sequences[1];
    cr_assert_eq(q->count, 3);
    cr_expect_eq(q->total_ns, 170000);
    cr_expect_eq(q->busy_ns, 150000, "half of the SMs for 40 us; a copy counts whole");
    const struct workload_kernel *k = &w.kernels[q->first];
    cr_expect_eq(k[0].profile.mean_ns, 100000);
    cr_expect_eq(k[0].profile.sms, 160);
    cr_expect_eq(k[0].profile.class, SCHED_CLASS_COMPUTE);
    cr_expect_eq(k[0].profile.compute_milli, 620);
    cr_expect_eq(k[0].profile.memory_milli, 180);
    cr_expect_eq(k[1].profile.class, SCHED_CLASS_MEMORY);
    cr_expect_eq(k[1].profile.compute_milli, 0, "not known");
    cr_expect(k[2].copy && !k[1].copy);
    cr_expect_eq(w.jobs->launch_ns, 5000);
    cr_expect_eq(w.jobs->request_ns, 6500000);
    workload_finish(&w);
}

/* The kernel is as fast on 32 SMs as on 80, and on 31 it takes at most 4 % longer. Without the
 * key no size is computed, nor for a kernel that fills no more than these. */
Test(sim_workload_kernels, what_the_scheduler_is_told_of_a_kernel_that_is_sized) {
    static const char *const kernels = "kernels name=a\n"
                                       "k 100us sms=160 full=32 class=memory\n"
                                       "k 100us sms=32 full=32\n"
                                       "k 100us sms=160\n"
                                       "job name=j kernels=a iterations=2 " LITTLE "\n";
    char text[1024];
    snprintf(text, sizeof(text), "device right_size=0.04 subgrids=yes\n%s", kernels);
    struct workload w = load(text);
    cr_expect(w.subgrids);
    cr_expect_eq(w.kernels[0].profile.sms, 160);
    cr_expect_eq(w.kernels[0].fit.sms, 31);
    cr_expect_eq(w.kernels[0].fit.mean_ns, 103225);
    cr_expect_eq(w.kernels[0].fit.tail_ns, 19999, "of its five waves and a bit");
    cr_expect_eq(w.kernels[1].fit.sms, 32);
    cr_expect_eq(w.kernels[2].fit.sms, 160);
    workload_finish(&w);
    w = load(kernels);
    cr_expect_eq(w.kernels[0].fit.sms, 160);
    cr_expect_eq(w.kernels[0].full, 32);
    workload_finish(&w);
}

Test(sim_workload_kernels, what_a_host_does_between_launches) {
    struct workload w = load("job name=j kernels=a iterations=2 start=1s finish=20ms " LITTLE "\n"
                             "kernels name=a\nh 3us\nh 4us\nk 1us sms=1\nw\nk 2us sms=1\nw\nh 5us\n"
                             "c 9us\nh 11us\nkernels name=b\nk 1us sms=1\n"
                             "device slots=1.1 left=0.9\n");
    const struct workload_kernel *k = w.kernels;
    cr_expect(k[0].host_ns == 7000 && !k[0].waits);
    cr_expect(k[1].host_ns == 0 && k[1].waits);
    cr_expect(k[2].host_ns == 5000 && k[2].waits);
    cr_expect(k[3].host_ns == 0 && !k[3].waits, "of another sequence");
    cr_expect_eq(w.sequences[0].tail_ns, 11000);
    cr_expect_eq(w.sequences[0].host_ns, 23000);
    cr_expect_eq(w.sequences[0].total_ns, 12000);
    cr_expect_eq(w.sequences[1].tail_ns, 0);
    cr_expect_eq(w.jobs->start_ns, 1000000000);
    cr_expect_eq(w.jobs->finish_ns, 20000000);
    cr_expect(w.slots_milli == 1100 && w.left_milli == 900);
    workload_finish(&w);
    expect_errors(
        "h 3us\nkernels name=a\nh\nh 0s\nh 2h\nw 3us\nk 1us sms=1\ndevice left=0 slots=3\n"
        "job name=j kernels=a iterations=1 " LITTLE "\n",
        "1: host time outside a sequence: begin one with `kernels name=...`\n"
        "3: '' is not a time from 1ns to 1h\n"
        "4: '0s' is not a time from 1ns to 1h\n"
        "5: '2h' is not a time from 1ns to 1h\n"
        "6: the line has words after the time\n"
        "8: left: '0' is not a number from 0.001 to 1\n"
        "8: slots: '3' is not a number from 1 to 2\n");
}

Test(sim_workload_kernels, every_way_of_arriving) {
    struct workload w = load("device until=1s\nkernels name=a\nk 1us sms=1\n"
                             "gaps name=g\n1ms 2ms 3ms\n0.5s\n"
                             "gaps name=h\n7us\n"
                             "job name=a kernels=a " LITTLE "\n"
                             "job name=b kernels=a every=closed " LITTLE "\n"
                             "job name=c kernels=a every=12.5ms " LITTLE "\n"
                             "job name=d kernels=a every=exp(66.7ms) " LITTLE "\n"
                             "job name=e kernels=a every=gaps:g " LITTLE "\n"
                             "job name=f kernels=a every=shuffled:h " LITTLE "\n");
    static const enum workload_arrivals arrivals[] = {WORKLOAD_CLOSED, WORKLOAD_CLOSED,
                                                      WORKLOAD_FIXED,  WORKLOAD_POISSON,
                                                      WORKLOAD_GAPS,   WORKLOAD_SHUFFLED};
    for (uint32_t i = 0; i < 6; i++)
        cr_expect_eq(w.jobs[i].arrivals, arrivals[i], "%u", i);
    cr_expect_eq(w.jobs[2].every_ns, 12500000);
    cr_expect_eq(w.jobs[3].every_ns, 66700000);
    cr_expect_eq(w.jobs[4].gaps, 0);
    cr_expect_eq(w.jobs[5].gaps, 1);
    cr_expect_eq(w.gaps[0].count, 4);
    cr_expect_eq(w.gap_ns[3], 500000000);
    cr_expect_eq(w.gap_ns[w.gaps[1].first], 7000);
    workload_finish(&w);
}

Test(sim_workload_kernels, a_promise_and_a_burst) {
    static const char text[] =
        "device until=1s\nkernels name=a\nk 1us sms=1\nkernels name=b\nk 2us sms=1\nk 3us sms=1\n"
        "job name=j persistent=1MiB ephemeral=1MiB kernels=a slo=90ms slo_of=p99 burst=b "
        "burst_from=90s burst_until=290s\n";
    struct workload w = load(text);
    char written[1024] = "";
    cr_expect_eq(w.jobs->slo_ns, 90000000);
    cr_expect_eq(w.jobs->slo_of, SCHED_SLO_P99);
    cr_expect_eq(w.jobs->burst_sequence, 1);
    cr_expect_eq(w.jobs->burst_from_ns, 90000000000);
    cr_expect_eq(w.jobs->burst_until_ns, 290000000000);
    FILE *f = fmemopen(written, sizeof(written), "w");
    workload_write(&w, f);
    fclose(f);
    cr_expect_str_eq(written, text);
    workload_finish(&w);
    expect_errors("device until=1s\nkernels name=a\nk 1us sms=1\n"
                  "job name=j kernels=a slo_of=p42 " LITTLE "\n"
                  "job name=j kernels=a burst=a " LITTLE "\n"
                  "job name=j kernels=a burst_until=1s " LITTLE "\n"
                  "job name=j kernels=a burst=c burst_until=1s " LITTLE "\n"
                  "job name=j iteration=1s burst=a burst_until=1s " LITTLE "\n",
                  "4: slo_of: 'p42' is not mean, p50, p95 or p99\n"
                  "5: burst needs a sequence, and burst_until after burst_from\n"
                  "6: burst needs a sequence, and burst_until after burst_from\n"
                  "8: burst cannot be given without kernels=\n"
                  "7: burst: there is no sequence 'c'\n");
}

Test(sim_workload_kernels, every_fault_of_a_section_is_listed_with_its_line) {
    expect_errors("k 1us sms=1\n"
                  "kernels name=a\n"
                  "k\n"
                  "k 2h sms=1\n"
                  "k 1us\n"
                  "k 1us sms=0 class=both compute=1.1\n"
                  "c 1us sms=1\n"
                  "5us\n"
                  "k 1us sms=1\n"
                  "gaps name=g\n"
                  "1ms 0s 3ms\n"
                  "1ms sms=1\n"
                  "kernels name=a\n"
                  "gaps\n"
                  "gaps name=g\n"
                  "job name=j kernels=a iterations=1 " LITTLE "\n",
                  "1: a kernel outside a sequence: begin one with `kernels name=...`\n"
                  "3: '' is not a time from 1ns to 1h\n"
                  "3: sms is missing\n"
                  "4: '2h' is not a time from 1ns to 1h\n"
                  "5: sms is missing\n"
                  "6: sms: '0' is not a whole number from 1 to 100000000\n"
                  "6: class: 'both' is not compute, memory or unknown\n"
                  "6: compute: '1.1' is not a number from 0 to 1\n"
                  "7: the key 'sms' is unknown here\n"
                  "8: '5us': a line must begin with job, device, kernels or gaps\n"
                  "9: a kernel outside a sequence: begin one with `kernels name=...`\n"
                  "11: '0s' is not a time from 1ns to 1000h\n"
                  "12: 'sms=1' is not a time from 1ns to 1000h\n"
                  "14: name is missing\n"
                  "13: kernels: a is empty\n"
                  "13: kernels: the sequence 'a' is given twice\n"
                  "15: gaps: g is empty\n"
                  "15: gaps: the trace 'g' is given twice\n");
}

Test(sim_workload_kernels, every_fault_of_a_job_is_listed_with_its_line) {
    expect_errors(
        "kernels name=a\nk 1us sms=1\n"
        "job name=j kernels=b iterations=1 " LITTLE "\n"
        "job name=j kernels=a iterations=1 every=gaps:g " LITTLE "\n"
        "job name=j kernels=a iterations=1 every=0s " LITTLE "\n"
        "job name=j kernels=a iterations=1 demand=0.5 " LITTLE "\n"
        "job name=j iteration=1ms iterations=1 launch=1us " LITTLE "\n"
        "job name=j iterations=1 " LITTLE "\n"
        "job name=j kernels=a iterations=1 every=1ms think=1ms " LITTLE "\n"
        "job name=j kernels=a " LITTLE "\n"
        "job name=j iteration=1ms iterations=1 " LITTLE "\n",
        "5: every: '0s' is not closed, a time from 1ns to 1000h, exp(time), gaps:NAME "
        "or shuffled:NAME\n"
        "6: demand cannot be given with kernels=\n"
        "7: launch cannot be given without kernels=\n"
        "8: iteration is missing\n"
        "9: think and host cannot be given with every=, which sets the arrival of requests\n"
        "3: kernels: there is no sequence 'b'\n"
        "4: every: there is no trace of gaps 'g'\n"
        "10: iterations is missing: give it, or an end of the run with until= of the device\n"
        "11: jobs with kernels= and jobs with iteration= cannot be in one workload\n");
}

Test(sim_workload_kernels, what_takes_too_long_is_refused) {
    expect_errors("kernels name=a\nk 1h sms=1\n"
                  "job name=j kernels=a iterations=1000000 " LITTLE "\n",
                  "3: the jobs so far take more than 36 years\n");
    char text[16384] = "kernels name=a\n", line[32];
    for (int i = 0; i < 1001; i++) {
        snprintf(line, sizeof(line), "k 1h sms=1\n");
        strcat(text, line);
    }
    strcat(text, "job name=j kernels=a iterations=1 " LITTLE "\n");
    expect_errors(text, "1002: the sequence so far takes more than 1000 h\n");
}

Test(sim_workload_kernels, too_many_jobs_are_refused) {
    size_t bytes;
    char *text = NULL;
    FILE *f = open_memstream(&text, &bytes);
    fputs("kernels name=a\nk 1us sms=1\n", f);
    for (uint32_t i = 0; i <= WORKLOAD_MAX_KERNEL_JOBS; i++)
        fputs("job name=j kernels=a iterations=1 " LITTLE "\n", f);
    fclose(f);
    expect_errors(text, "1003: the workload has more than 1000 jobs with kernels=\n");
    free(text);
}

Test(sim_workload_kernels, what_is_written_reads_back_to_the_same) {
    static const char *const text =
        "device sms=40 dispatch=5us subgrids=yes right_size=0.040 until=1min\n"
        "kernels name=a\n"
        "k 100us sms=160 class=compute compute=0.620 memory=0.180\n"
        "k 40ns sms=20 full=10\n"
        "c 30us\n"
        "gaps name=g\n"
        "1ms 2ms 3ms 4ms 5ms 6ms 7ms 8ms 9ms 10ms\n"
        "11ms\n"
        "job name=x persistent=1MiB ephemeral=1MiB kernels=a every=exp(66700us) launch=5us "
        "request=6500us priority=1\n"
        "job name=y persistent=1MiB ephemeral=1MiB iterations=4 kernels=a every=shuffled:g\n"
        "job name=z persistent=1MiB ephemeral=1MiB kernels=a\n";
    struct workload w = load(text);
    char *written = NULL;
    size_t bytes;
    FILE *f = open_memstream(&written, &bytes);
    workload_write(&w, f);
    fclose(f);
    cr_expect_str_eq(written, text, "%s", written);
    free(written);
    workload_finish(&w);
}
