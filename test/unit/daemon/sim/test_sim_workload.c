/* SPDX-License-Identifier: Apache-2.0
 *
 * Quantities and workload files: parsing, every error with its line, and writing that reads back to
 * the same.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/sim/base/quantity.h"
#include "daemon/sim/workload/workload_file.h"

static uint64_t number(enum quantity kind, const char *text) {
    uint64_t n = 12345;
    int err = quantity_parse(kind, text, &n);
    cr_expect_eq(err, 0, "%s: %d", text, err);
    return n;
}

Test(sim_quantity, reads_units_and_exact_fractions) {
    cr_expect_eq(number(QUANTITY_TIME, "12.5s"), 12500000000ull);
    cr_expect_eq(number(QUANTITY_TIME, "0.1ms"), 100000);
    cr_expect_eq(number(QUANTITY_TIME, "1.5ns"), 1, "rounded down");
    cr_expect_eq(number(QUANTITY_TIME, "2h"), 7200000000000ull);
    cr_expect_eq(number(QUANTITY_TIME, "0"), 0);
    cr_expect_eq(number(QUANTITY_TIME, "1.234567890123456789s"), 1234567890ull);
    cr_expect_eq(number(QUANTITY_BYTES, "0.5GiB"), 512ull << 20);
    cr_expect_eq(number(QUANTITY_BYTES, "16TiB"), 16ull << 40);
    cr_expect_eq(number(QUANTITY_MILLI, "0.6"), 600);
    cr_expect_eq(number(QUANTITY_MILLI, "1"), 1000);
    cr_expect_eq(number(QUANTITY_COUNT, "900"), 900);
}

Test(sim_quantity, refuses_what_is_no_quantity) {
    uint64_t n;
    const char *bad[] = {"",    "s",   "-1s",    "+1s",  "1",    "1ss",
                         "1.s", ".5s", "1.2.3s", "1e3s", "0x1s", "1S"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        cr_expect_eq(quantity_parse(QUANTITY_TIME, bad[i], &n), -EINVAL, "'%s'", bad[i]);
    cr_expect_eq(quantity_parse(QUANTITY_COUNT, "1.0", &n), -EINVAL);
    cr_expect_eq(quantity_parse(QUANTITY_BYTES, "1GB", &n), -EINVAL);
    cr_expect_eq(quantity_parse(QUANTITY_COUNT, "99999999999999999999999", &n), -ERANGE);
    cr_expect_eq(quantity_parse(QUANTITY_TIME, "9999999999h", &n), -ERANGE);
}

Test(sim_quantity, what_is_printed_reads_back) {
    const uint64_t values[] = {0, 1, 999, 1000, 60000000000ull, 3600000000001ull, 1ull << 40, 7};
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        char text[32];
        quantity_print(QUANTITY_TIME, values[i], text, sizeof(text));
        cr_expect_eq(number(QUANTITY_TIME, text), values[i], "%s", text);
        quantity_print(QUANTITY_BYTES, values[i], text, sizeof(text));
        cr_expect_eq(number(QUANTITY_BYTES, text), values[i], "%s", text);
    }
}

static int parse(struct workload *w, const char *text, char *errors, size_t cap) {
    struct buf b;
    buf_init(&b);
    int err = workload_parse(w, text, strlen(text), &b);
    snprintf(errors, cap, "%s", buf_str(&b));
    buf_finish(&b);
    return err;
}

static void expect_errors(const char *text, const char *expected) {
    struct workload w;
    char errors[16384];
    cr_expect_eq(parse(&w, text, errors, sizeof(errors)), -EINVAL);
    cr_expect_str_eq(errors, expected, "got:\n%s", errors);
    workload_finish(&w);
}

Test(sim_workload, a_job_with_everything) {
    struct workload w;
    char errors[256];
    cr_assert_eq(
        parse(&w,
              "# a comment: any bytes \x01\xff\n"
              "device memory=8GiB link=6GiB/s share_users=yes\r\n"
              "\n"
              "job\tname=a_1 arrival=12.5s persistent=300MiB ephemeral=5GiB iterations=900 "
              "iteration=180ms demand=0.6 jitter=0.05 think=exp(2ms) weight=3 priority=-2 "
              "group=7 user=9 admit_timeout=1min hint=none unknown=yes boundaries=no # end",
              errors, sizeof(errors)),
        0, "%s", errors);
    const struct workload_job *j = w.jobs;
    cr_expect_eq(w.count, 1);
    cr_expect_eq(w.memory_bytes, 8ull << 30);
    cr_expect_eq(w.link_bytes, 6ull << 30);
    cr_expect_str_eq(j->name, "a_1");
    cr_expect_eq(j->arrival_ns, 12500000000ull);
    cr_expect_eq(j->persistent_bytes, 300ull << 20);
    cr_expect_eq(j->ephemeral_bytes, 5ull << 30);
    cr_expect_eq(j->iterations, 900);
    cr_expect_eq(j->iteration_ns, 180000000);
    cr_expect_eq(j->demand_milli, 600);
    cr_expect_eq(j->jitter_milli, 50);
    cr_expect_eq(j->think_ns, 2000000);
    cr_expect(j->think_random);
    cr_expect_eq(j->weight, 3);
    cr_expect_eq(j->priority, -2);
    cr_expect_eq(j->group, 7);
    cr_expect_eq(j->user, 9);
    cr_expect(w.share_users);
    cr_expect_eq(j->admit_timeout_ns, 60000000000ull);
    cr_expect_eq(j->hint, WORKLOAD_HINT_NONE);
    cr_expect(j->unknown);
    cr_expect_not(j->boundaries);
    workload_finish(&w);
}

#define LITTLE "persistent=1MiB ephemeral=1MiB iterations=1 iteration=1ms"

Test(sim_workload, defaults) {
    struct workload w;
    char errors[256];
    cr_assert_eq(parse(&w, "job name=a " LITTLE, errors, sizeof(errors)), 0, "%s", errors);
    cr_expect_eq(w.memory_bytes, 16ull << 30);
    cr_expect_eq(w.link_bytes, 12ull << 30);
    cr_expect_eq(w.jobs->arrival_ns, 0);
    cr_expect_eq(w.jobs->demand_milli, 1000);
    cr_expect_eq(w.jobs->weight, 1);
    cr_expect_eq(w.jobs->user, 0);
    cr_expect_not(w.share_users);
    cr_expect_eq(w.jobs->hint, WORKLOAD_HINT_DURATION);
    cr_expect(w.jobs->boundaries);
    cr_expect_not(w.jobs->unknown);
    workload_finish(&w);
}

Test(sim_workload, jobs_are_in_order_of_arrival_and_ties_in_order_of_the_file) {
    struct workload w;
    char errors[256];
    cr_assert_eq(parse(&w,
                       "job name=c arrival=2s " LITTLE "\n"
                       "job name=a arrival=1s " LITTLE "\n"
                       "job name=d arrival=2s " LITTLE "\n"
                       "job name=b arrival=1s " LITTLE "\n"
                       "job name=z arrival=0s " LITTLE "\n",
                       errors, sizeof(errors)),
                 0);
    const char *order = "zabcd";
    for (uint32_t i = 0; i < 5; i++)
        cr_expect_eq(w.jobs[i].name[0], order[i], "%u: %s", i, w.jobs[i].name);
    workload_finish(&w);
}

Test(sim_workload, every_fault_is_listed_with_its_line) {
    expect_errors("device memory=0B link=1GiB\n"
                  "jib name=a\n"
                  "job name=a persistent=1MiB ephemeral=1MiB iterations=0 iteration=1ms\n"
                  "\n"
                  "job name=a/b " LITTLE " demand=1.5 colour=red\n"
                  "device\n"
                  "job name=a name=b persistent\n"
                  "job name=a " LITTLE " \x07\n"
                  "job name=a " LITTLE " think=exp(2 priority=--1 hint=maybe unknown=1\n",
                  "1: memory: '0B' is not a size from 1B to 16TiB\n"
                  "1: link: '1GiB' is not a rate from 1MiB/s to 16TiB/s\n"
                  "2: 'jib': a line must begin with job, device, kernels or gaps\n"
                  "3: iterations: '0' is not a whole number from 1 to 1000000000\n"
                  "5: name: 'a/b' is not 1 to 63 letters, digits or _-.:+\n"
                  "5: demand: '1.5' is not a number from 0.001 to 1\n"
                  "5: the key 'colour' is unknown here\n"
                  "6: the device is given twice\n"
                  "7: name is given twice\n"
                  "7: 'persistent' is not of the form key=value\n"
                  "7: persistent is missing\n"
                  "7: ephemeral is missing\n"
                  "8: the line has a byte that is not printable ASCII\n"
                  "9: think: 'exp(2' is not a time up to 1000h, such as 2ms, or exp(2ms)\n"
                  "9: priority: '--1' is not a whole number from -1000000 to 1000000\n"
                  "9: hint: 'maybe' is not duration, iterations or none\n"
                  "9: unknown: '1' is not yes or no\n");
}

Test(sim_workload, a_file_without_jobs_is_none) {
    expect_errors("", "0: the workload has no job\n");
    expect_errors("device memory=1GiB\n", "0: the workload has no job\n");
}

Test(sim_workload, what_takes_too_long_is_refused) {
    expect_errors("job name=a persistent=0 ephemeral=0 iterations=1000000 iteration=1h\n"
                  "job name=b " LITTLE,
                  "1: the jobs so far take more than 36 years\n");
}

Test(sim_workload, a_long_line_is_refused_and_the_next_is_read) {
    char text[6000];
    memset(text, 'x', 5000);
    snprintf(text + 5000, sizeof(text) - 5000, "\nbad\n");
    expect_errors(text, "1: the line is longer than 4096 bytes\n2: 'bad': a line must begin with "
                        "job, device, kernels or gaps\n");
}

Test(sim_workload, no_more_than_a_hundred_faults_are_listed) {
    char text[1024] = "", errors[16384];
    struct workload w;
    for (int i = 0; i < 130; i++)
        strcat(text, "bad\n");
    cr_expect_eq(parse(&w, text, errors, sizeof(errors)), -EINVAL);
    cr_expect_not_null(strstr(errors, "\n100: "));
    cr_expect_null(strstr(errors, "\n101: "));
    cr_expect_not_null(strstr(errors, "30 more errors are not listed\n"));
}

Test(sim_workload, what_is_written_reads_back_to_the_same) {
    struct workload a, b;
    char errors[256], *first = NULL, *second = NULL;
    size_t first_bytes, second_bytes;
    cr_assert_eq(parse(&a,
                       "device memory=8GiB link=6.5GiB/s\n"
                       "job name=x " LITTLE
                       " demand=0.125 think=exp(1.5ms) priority=-9 unknown=yes\n"
                       "job name=y arrival=90s " LITTLE " host=3us hint=iterations boundaries=no\n",
                       errors, sizeof(errors)),
                 0, "%s", errors);
    FILE *f = open_memstream(&first, &first_bytes);
    workload_write(&a, f);
    fclose(f);
    cr_assert_eq(parse(&b, first, errors, sizeof(errors)), 0, "%s", errors);
    f = open_memstream(&second, &second_bytes);
    workload_write(&b, f);
    fclose(f);
    cr_expect_str_eq(first, second);
    cr_expect_str_eq(
        first,
        "device memory=8GiB link=6656MiB/s\n"
        "job name=x persistent=1MiB ephemeral=1MiB iterations=1 iteration=1ms demand=0.125 "
        "think=exp(1500us) priority=-9 unknown=yes\n"
        "job name=y arrival=90s persistent=1MiB ephemeral=1MiB iterations=1 iteration=1ms "
        "host=3us hint=iterations boundaries=no\n",
        "%s", first);
    free(first);
    free(second);
    workload_finish(&a);
    workload_finish(&b);
}

Test(sim_workload, files) {
    struct workload w;
    struct buf errors;
    char path[] = "/tmp/test_sim_workloadXXXXXX";
    int fd = mkstemp(path);
    const char text[] = "job name=a " LITTLE "\n";
    buf_init(&errors);
    cr_assert_eq(write(fd, text, sizeof(text) - 1), (ssize_t)sizeof(text) - 1);
    cr_expect_eq(workload_read(&w, path, &errors), 0);
    cr_expect_eq(w.count, 1);
    workload_finish(&w);
    close(fd);
    unlink(path);
    cr_expect_eq(workload_read(&w, path, &errors), -ENOENT);
    cr_expect_str_eq(buf_str(&errors), "No such file or directory\n");
    workload_finish(&w);
    buf_finish(&errors);
}
