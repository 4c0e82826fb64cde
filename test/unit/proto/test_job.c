/* SPDX-License-Identifier: Apache-2.0
 *
 * Options of a job, from the words that users write to the limits that the daemon enforces; units;
 * and the texts of reasons.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/text/units.h"
#include "daemon/policy/reason.h"
#include "daemon/sched/sched.h"
#include "daemon/worker/iteration/iteration.h"
#include "daemon/worker/recovery/savepoint.h"
#include "proto/cuda/capability.h"
#include "proto/wire/job.h"

static struct wire_job job;
static char why[JOB_WHY_BYTES];

Test(job, every_option_reaches_its_field) {
    cr_assert_eq(job_set(&job, "SALUS_PERSISTENT", "3GiB", why), 0);
    cr_assert_eq(job_set(&job, "SALUS_EPHEMERAL", "512 MiB", why), 0);
    cr_assert_eq(job_set(&job, "SALUS_WEIGHT", "7", why), 0);
    cr_assert_eq(job_set(&job, "SALUS_PRIORITY", "-12", why), 0);
    cr_assert_eq(job_set(&job, "SALUS_GROUP", "pair", why), 0);
    cr_assert_eq(job_set(&job, "SALUS_ITERATIONS", "100000", why), 0);
    cr_assert_eq(job_set(&job, "SALUS_DURATION", "2h", why), 0);
    cr_assert_eq(job_set(&job, "SALUS_ADMIT_TIMEOUT", "30s", why), 0);
    cr_assert_eq(job_set(&job, "SALUS_CAPABILITY", "12.1", why), 0);
    cr_assert_eq(job_set(&job, "SALUS_SLO", "90ms", why), 0);
    cr_assert_eq(job_set(&job, "SALUS_SLO_OF", "p99", why), 0);
    cr_assert_eq(job_set(&job, "SALUS_RUN", "4294967295", why), 0);
    cr_assert_eq(job.persistent_bytes, 3ull << 30);
    cr_assert_eq(job.ephemeral_bytes, 512ull << 20);
    cr_assert_eq(job.flags, WIRE_JOB_RESERVED);
    cr_assert_eq(job.weight, 7);
    cr_assert_eq(job.priority, -12);
    cr_assert_str_eq(job.group, "pair");
    cr_assert_eq(job.iterations, 100000);
    cr_assert_eq(job.duration_ns, 7200000000000);
    cr_assert_eq(job.admit_timeout_ns, 30000000000);
    cr_assert_eq(job.capability, 121);
    cr_assert_eq(job.run, UINT32_MAX);
    cr_assert_eq(job.slo_ns, 90000000);
    cr_assert_eq(job.slo_of, SCHED_SLO_P99);
    cr_assert_eq(job_check(&job, why), 0);
    cr_assert_eq(job_set(&job, "SALUS_PRIORITY", "12", why), 0);
    cr_assert_eq(job.priority, 12);
}

static void expect_wrong(const char *variable, const char *value, const char *text) {
    struct wire_job before = job;

    cr_assert_eq(job_set(&job, variable, value, why), -EINVAL, "%s=%s", variable, value);
    cr_assert_str_eq(why, text, "%s", why);
    cr_assert_arr_eq(&job, &before, sizeof(job));
}

Test(job, what_is_wrong_is_said_and_changes_nothing) {
    expect_wrong("SALUS_SLO_OF", "p42", "SALUS_SLO_OF: 'p42' is not mean, p50, p95 or p99");
    expect_wrong("SALUS_PERSISTENT", "much",
                 "SALUS_PERSISTENT: 'much' is not a size such as 512MiB");
    expect_wrong("SALUS_PERSISTENT", "65TiB",
                 "SALUS_PERSISTENT: 65TiB is out of range: 0 to 64TiB");
    expect_wrong("SALUS_PERSISTENT", "99999999999999999999",
                 "SALUS_PERSISTENT: 99999999999999999999 is out of range: 0 to 64TiB");
    expect_wrong("SALUS_WEIGHT", "0", "SALUS_WEIGHT: 0 is out of range: 1 to 1000");
    expect_wrong("SALUS_WEIGHT", "1001", "SALUS_WEIGHT: 1001 is out of range: 1 to 1000");
    expect_wrong("SALUS_WEIGHT", "-1", "SALUS_WEIGHT: '-1' is not a whole number");
    expect_wrong("SALUS_PRIORITY", "-1001", "SALUS_PRIORITY: -1001 is out of range: -1000 to 1000");
    expect_wrong("SALUS_PRIORITY", "--1", "SALUS_PRIORITY: '--1' is not a whole number");
    expect_wrong("SALUS_DURATION", "400000h",
                 "SALUS_DURATION: 400000h is out of range: 0 to 36 years");
    expect_wrong("SALUS_DURATION", "5",
                 "SALUS_DURATION: '5' is not a time with its unit, such as 30s");
    expect_wrong("SALUS_GROUP", "a b", "SALUS_GROUP: 'a b' is not 1 to 31 printable characters");
    expect_wrong("SALUS_GROUP", "0123456789012345678901234567890x",
                 "SALUS_GROUP: '0123456789012345678901234567890x' is not 1 to 31 printable "
                 "characters");
    const char *capabilities[] = {"", "9", "9.", "90", "9.0 ", "9.1", "9.0|10.0", "|", "13.00"};
    for (size_t i = 0; i < sizeof(capabilities) / sizeof(*capabilities); i++) {
        char text[128];
        snprintf(text, sizeof(text), "SALUS_CAPABILITY: '%s' is not one of " CAPABILITY_CHOICES,
                 capabilities[i]);
        expect_wrong("SALUS_CAPABILITY", capabilities[i], text);
    }
    expect_wrong("SALUS_DEVICE_MODE", "nul", "SALUS_DEVICE_MODE: 'nul' is not compute or null");
    expect_wrong("SALUS_DEVICE_MODE", "", "SALUS_DEVICE_MODE: '' is not compute or null");
    const char *switches[] = {"", "yes ", "Yes", "1", "on", "y", "no!"};
    for (size_t i = 0; i < sizeof(switches) / sizeof(*switches); i++) {
        char text[128];
        snprintf(text, sizeof(text), "SALUS_SAVEPOINTS: '%s' is not yes or no", switches[i]);
        expect_wrong("SALUS_SAVEPOINTS", switches[i], text);
    }
    cr_assert_eq(job_set(&job, "SALUS_TARIFF", "1", why), -ENOENT);
}

Test(job, strict_is_0_or_1) {
    const char *wrong[] = {"x", "2", "yes", "01", " 1", "-1"};
    bool strict = true;

    cr_expect(job_strict(NULL, &strict, why) == 0 && !strict);
    cr_expect(job_strict("1", &strict, why) == 0 && strict);
    cr_expect(job_strict("", &strict, why) == 0 && !strict);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
        cr_expect(job_strict(wrong[i], &strict, why) == -EINVAL && !strict, "%s", wrong[i]);
    cr_expect_str_eq(why, "SALUS_STRICT: '-1' is not 0 or 1");
    cr_expect(job_strict("0", &strict, why) == 0 && !strict);
}

Test(job, a_mode_is_a_flag_beside_the_others) {
    struct wire_job j = {.flags = WIRE_JOB_RESERVED};

    cr_assert_eq(job_set(&j, "SALUS_DEVICE_MODE", "null", why), 0);
    cr_expect_eq(j.flags, WIRE_JOB_RESERVED | WIRE_JOB_NULL);
    cr_expect_eq(job_check(&j, why), 0);
    cr_expect_eq(j.flags, WIRE_JOB_RESERVED | WIRE_JOB_NULL);
    cr_assert_eq(job_set(&j, "SALUS_DEVICE_MODE", "compute", why), 0);
    cr_expect_eq(j.flags, WIRE_JOB_RESERVED);
}

Test(job, a_switch_is_a_flag_beside_the_others) {
    struct wire_job j = {.flags = WIRE_JOB_RESERVED | WIRE_JOB_NULL};

    cr_assert_eq(job_set(&j, "SALUS_SAVEPOINTS", "no", why), 0);
    cr_expect_eq(j.flags, WIRE_JOB_RESERVED | WIRE_JOB_NULL);
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(job_set(&j, "SALUS_SAVEPOINTS", "yes", why), 0);
        cr_expect_eq(j.flags, WIRE_JOB_RESERVED | WIRE_JOB_NULL | WIRE_JOB_SAVEPOINTS);
    }
    cr_expect_eq(job_check(&j, why), 0);
    cr_expect_eq(j.flags, WIRE_JOB_RESERVED | WIRE_JOB_NULL | WIRE_JOB_SAVEPOINTS);
    cr_assert_eq(job_set(&j, "SALUS_DEVICE_MODE", "compute", why), 0);
    cr_expect_eq(j.flags, WIRE_JOB_RESERVED | WIRE_JOB_SAVEPOINTS);
    cr_assert_eq(job_set(&j, "SALUS_SAVEPOINTS", "no", why), 0);
    cr_expect_eq(j.flags, WIRE_JOB_RESERVED);
}

Test(job, the_tag_has_its_room) {
    char name[24] = "train.py", full[24];

    job_tag(name, sizeof(name));
    cr_expect_str_eq(name, "train.py (not computed)");
    memset(full, 'x', sizeof(full));
    full[23] = '\0';
    job_tag(full, sizeof(full));
    cr_expect_str_eq(full, "xxxxxxxx (not computed)");
    memset(full, 'x', sizeof(full)); /* no terminating NUL */
    job_tag(full, sizeof(full));
    cr_expect_str_eq(full, "xxxxxxxx (not computed)");
    name[0] = '\0';
    job_tag(name, sizeof(name));
    cr_expect_str_eq(name, " (not computed)");
}

Test(job, capabilities_are_those_of_the_list) {
    uint32_t last = 0, known = 0;
    char text[16];

    for (uint32_t c = 1; c < 300; c++) {
        snprintf(text, sizeof(text), "%u.%u", c / 10, c % 10);
        cr_assert_eq(capability_parse(text), capability_known(c) ? c : 0, "%s", text);
        if (capability_known(c)) known++, last = c;
    }
    cr_assert(known == 13 && last == 130);
    cr_assert(capability_known(75) && capability_known(90) && !capability_known(0));
}

Test(job, a_gpu_is_a_number_and_nothing_else) {
    static const char *const wrong[] = {"x", "-1", "1x", " 1", "1.5", "0x1", "4294967295", "1GiB"};
    char reason[JOB_WHY_BYTES];
    uint32_t gpu = 9;

    cr_assert_eq(job_gpu(NULL, &gpu, reason), 0);
    cr_assert_eq(gpu, 0);
    cr_assert_eq(job_gpu("", &gpu, reason), 0);
    cr_assert_eq(gpu, 0);
    cr_assert_eq(job_gpu("0", &gpu, reason), 0);
    cr_assert_eq(gpu, 1);
    cr_assert_eq(job_gpu("4294967294", &gpu, reason), 0);
    cr_assert_eq(gpu, UINT32_MAX);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        cr_expect_eq(job_gpu(wrong[i], &gpu, reason), -EINVAL, "%s", wrong[i]);
    cr_assert_str_eq(reason, "SALUS_GPU: '1GiB' is not the number of a GPU");
}

Test(job, the_environment_is_read_and_its_errors_are_counted) {
    setenv("SALUS_PERSISTENT", "1MiB", 1);
    setenv("SALUS_WEIGHT", "heavy", 1);
    setenv("SALUS_GROUP", "", 1);
    setenv("SALUS_DURATION", "x", 1);
    job.iterations = 5;
    cr_assert_eq(job_from_environment(&job, why), 2);
    cr_assert_str_eq(why, "SALUS_WEIGHT: 'heavy' is not a whole number");
    cr_assert_eq(job.persistent_bytes, 1u << 20);
    cr_assert_eq(job.iterations, 0);
    cr_assert_eq(job.weight, 0);
}

static void expect_refused(const struct wire_job *wrong, const char *text) {
    struct wire_job j = *wrong;

    cr_assert_eq(job_check(&j, why), -EINVAL);
    cr_assert_str_eq(why, text, "%s", why);
}

Test(job, the_daemon_believes_nothing) {
    struct wire_job j = {.persistent_bytes = 5, .ephemeral_bytes = 7};

    expect_refused(&(struct wire_job){.flags = WIRE_JOB_PAUSED},
                   "the job has flags that are unknown here: 0x2");
    expect_refused(&(struct wire_job){.ephemeral_bytes = UINT64_MAX},
                   "the job's memory is more than 64 TiB");
    expect_refused(&(struct wire_job){.weight = 1001}, "weight 1001 is not from 1 to 1000");
    expect_refused(&(struct wire_job){.priority = INT32_MIN},
                   "priority -2147483648 is not from -1000 to 1000");
    expect_refused(&(struct wire_job){.priority = 1001}, "priority 1001 is not from -1000 to 1000");
    expect_refused(&(struct wire_job){.capability = 91},
                   "compute capability 9.1 is not one of " CAPABILITY_CHOICES);
    expect_refused(&(struct wire_job){.iterations = UINT64_MAX},
                   "iterations: more than 1099511627776");
    expect_refused(&(struct wire_job){.duration_ns = UINT64_MAX},
                   "a time of the job is more than 36 years");
    expect_refused(&(struct wire_job){.admit_timeout_ns = UINT64_MAX},
                   "a time of the job is more than 36 years");
    expect_refused(&(struct wire_job){.slo_ns = UINT64_MAX},
                   "a time of the job is more than 36 years");
    expect_refused(&(struct wire_job){.slo_of = SCHED_SLO_KINDS},
                   "a target of latency is of 4, not of mean, p50, p95 or p99");
    expect_refused(&(struct wire_job){.group = "a\nb"},
                   "the group's name is not 1 to 31 printable characters");
    memset(j.group, 'x', sizeof(j.group));
    expect_refused(&j, "the group's name is not 1 to 31 printable characters");
    memcpy(j.group, "ab\0cd", 6); /* bytes after the NUL are ignored */
    memset(j.group + 6, 0, sizeof(j.group) - 6);
    cr_assert_eq(job_check(&j, why), 0);
    cr_assert_arr_eq(j.group, "ab\0\0\0\0", 6);
    cr_assert_eq(j.persistent_bytes, 0, "sizes without their flag are not said");
}

Test(units, sizes_for_people_are_rounded_and_for_files_exact) {
    char text[40];

    units_print_bytes(1610612736, text, sizeof(text));
    cr_assert_str_eq(text, "1.5 GiB");
    units_print_bytes(20ull << 30, text, sizeof(text));
    cr_assert_str_eq(text, "20 GiB");
    units_print_bytes(999, text, sizeof(text));
    cr_assert_str_eq(text, "999 B");
    units_print(UNITS_BYTES, (1ull << 30) + 1, text, sizeof(text));
    cr_assert_str_eq(text, "1073741825");
    units_print(UNITS_TIME, 90000000000, text, sizeof(text));
    cr_assert_str_eq(text, "90s");
}

Test(reason, numbers_have_words) {
    cr_assert_str_eq(reason_why(SCHED_WHY_NONE), "");
    cr_assert_str_eq(reason_why(SCHED_WHY_TURN),
                     "waits for its turn: another job of its lane has the turn");
    cr_assert_str_eq(reason_why(SCHED_WHY_SWAPPED),
                     "is swapped out: its persistent memory is in host memory");
    cr_assert_str_eq(reason_why(99), "?");
    cr_assert_str_eq(reason_source(ITERATION_PERIOD), "period");
    cr_assert_str_eq(reason_source(UINT64_MAX), "?");
    cr_assert_str_eq(reason_savepoint(SAVEPOINT_NONE), "");
    cr_assert_str_eq(reason_savepoint(SAVEPOINT_HOST),
                     "the job's kernels use addresses of host memory");
    cr_assert_str_eq(reason_savepoint(SAVEPOINT_LACK), "the job cannot continue on another worker");
    cr_assert_str_eq(reason_savepoint(SAVEPOINT_LACK + 1), "?");
    cr_assert_str_eq(reason_savepoint(UINT64_MAX), "?");
    for (int of = 0; of < SCHED_SLO_KINDS; of++)
        cr_assert_eq(reason_find_slo_of(reason_slo_of((unsigned)of)), of);
    cr_assert_eq(reason_find_slo_of("p98"), -1);
    cr_assert_str_eq(reason_slo_of(SCHED_SLO_KINDS), "?");
}
