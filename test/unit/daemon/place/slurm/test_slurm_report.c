/* SPDX-License-Identifier: Apache-2.0
 *
 * Reports of nodes, which may contain any bytes, and their age.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/place/slurm/placer/report.h"
#include "daemon/place/slurm/placer/report_age.h"

static char why[REPORT_WHY_BYTES];

Test(slurm_report, gpus_are_read) {
    struct report r;

    cr_assert_eq(report_parse(&r,
                              "salus:123.4 {\"schema\":1,\"gpus\":["
                              "{\"id\":0,\"state\":\"ready\",\"memory_bytes\":1073741824,\"x\":1},"
                              "{\"id\":1,\"state\":\"failed\",\"memory_bytes\":5}]}",
                              why),
                 0);
    cr_expect_eq(r.gpu_count, 2);
    cr_expect_eq(r.gpus[0].memory_bytes, 1073741824);
    cr_expect(r.gpus[0].ready);
    cr_expect(!r.gpus[1].ready);
}

Test(slurm_report, what_is_none_of_ours_is_no_nonsense) {
    struct report r;

    cr_expect_eq(report_parse(&r, NULL, why), -ENOENT);
    cr_expect_eq(report_parse(&r, "", why), -ENOENT);
    cr_expect_eq(report_parse(&r, "rack 7", why), -ENOENT);
}

#define GPU(text) "salus:1 {\"schema\":1,\"gpus\":[" text "]}"

Test(slurm_report, nonsense_is_refused_with_its_reason) {
    static const struct {
        const char *text, *why;
    } cases[] = {
        {"salus:", "the report has no time"},
        {"salus:x {}", "the report has no time"},
        {"salus:1 ", "the report is not JSON"},
        {"salus:1 {\"schema\":1,\"gpus\":[", "the report is not JSON"},
        {"salus:1 {} {}", "the report is not JSON"},
        {"salus:1 7", "the report's schema is not 1"},
        {"salus:1 {\"schema\":2,\"gpus\":[]}", "the report's schema is not 1"},
        {"salus:1 {\"schema\":1}", "the report has no list of GPUs"},
        {GPU(""), "the report has no GPU"},
        {GPU("7"), "a GPU in the report has no number"},
        {GPU("{\"id\":1,\"state\":\"ready\",\"memory_bytes\":1}"),
         "the report's GPUs are not numbered consecutively"},
        {GPU("{\"id\":0.5,\"state\":\"ready\",\"memory_bytes\":1}"),
         "a GPU in the report has no number"},
        {GPU("{\"id\":0,\"state\":\"ready\",\"memory_bytes\":-1}"),
         "the report gives no size for a GPU's memory"},
        {GPU("{\"id\":0,\"state\":\"ready\",\"memory_bytes\":1e300}"),
         "the report gives no size for a GPU's memory"},
        {GPU("{\"id\":0,\"state\":\"ready\",\"memory_bytes\":\"1\"}"),
         "the report gives no size for a GPU's memory"},
        {GPU("{\"id\":0,\"memory_bytes\":1}"), "a GPU in the report has no state"},
    };
    struct report r;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        cr_expect_eq(report_parse(&r, cases[i].text, why), -EINVAL, "%s", cases[i].text);
        cr_expect_str_eq(why, cases[i].why, "%s: %s", cases[i].text, why);
    }
}

#define JOBS(text)                                                                        \
    "salus:1 {\"schema\":1,\"gpus\":[{\"id\":0,\"state\":\"ready\",\"memory_bytes\":1}]," \
    "\"jobs\":" text "}"
#define JOB(id, demand, bytes) \
    "{\"uid\":9,\"id\":" id ",\"demand\":" demand ",\"persistent\":" bytes ",\"ephemeral\":7}"

Test(slurm_report, jobs_are_read_and_added_up) {
    struct report r;

    cr_assert_eq(report_parse(&r,
                              JOBS("[" JOB("5", "700", "100") "," JOB("6", "0", "1") "," JOB(
                                  "5", "400", "50") "]"),
                              why),
                 0);
    cr_expect_eq(r.job_count, 2);
    cr_assert_not_null(report_find_job(&r, 5, 9));
    cr_expect_eq(report_find_job(&r, 5, 9)->demand_milli, 1000, "all of a GPU and no more");
    cr_expect_eq(report_find_job(&r, 5, 9)->persistent_bytes, 150);
    cr_expect_eq(report_find_job(&r, 5, 9)->ephemeral_bytes, 14);
    cr_expect_null(report_find_job(&r, 7, 9));
    cr_expect_null(report_find_job(&r, 5, 8), "another user called his so");
}

#define LACKED(text)                                                                      \
    "salus:1 {\"schema\":1,\"gpus\":[{\"id\":0,\"state\":\"ready\",\"memory_bytes\":1}]," \
    "\"lacked\":" text "}"
#define LACK(id, needed, at) "{\"uid\":9,\"id\":" id ",\"needed\":" needed ",\"at\":" at "}"

Test(slurm_report, who_lacked_memory_is_read) {
    struct report r;

    cr_assert_eq(report_parse(&r,
                              LACKED("[" LACK("5", "700", "1790000000.25") "," LACK(
                                  "6", "18446744073709551615", "3") "," LACK("5", "400",
                                                                             "1790000001.5") "]"),
                              why),
                 0);
    cr_expect_eq(r.lack_count, 2);
    cr_assert_not_null(report_find_lack(&r, 5, 9));
    cr_expect_eq(report_find_lack(&r, 5, 9)->needed_bytes, 700, "the most");
    cr_expect_eq(report_find_lack(&r, 5, 9)->at_ms, 1790000001500, "the latest");
    cr_expect_eq(report_find_lack(&r, 6, 9)->needed_bytes, 2 * REPORT_MEMORY_MOST, "bounded");
    cr_expect_null(report_find_lack(&r, 7, 9));
    cr_expect_null(report_find_lack(&r, 5, 8), "another user called his so");
}

Test(slurm_report, of_more_that_lacked_memory_nothing_is_known) {
    static char text[1 << 16];
    size_t n = (size_t)sprintf(text, "salus:1 {\"schema\":1,\"gpus\":[{\"id\":0,\"state\":"
                                     "\"ready\",\"memory_bytes\":1}],\"lacked\":[");
    struct report r;

    for (int i = 0; i < REPORT_LACKS_MOST + 9; i++)
        n += (size_t)sprintf(text + n, "%s{\"uid\":9,\"id\":%d,\"needed\":1,\"at\":1}",
                             i ? "," : "", i);
    strcpy(text + n, "]}");
    cr_assert_eq(report_parse(&r, text, why), 0, "%s", why);
    cr_expect_eq(r.lack_count, REPORT_LACKS_MOST);
    cr_expect_null(report_find_lack(&r, REPORT_LACKS_MOST, 9));
}

#define GOOD_LACK LACK("5", "1", "1")

/* Users choose the names of their programs: no name may make the placer lose a node or another
 * job. */
Test(slurm_report, lacks_that_cannot_be_are_passed_over) {
    static const char *const texts[] = {LACKED("[7," GOOD_LACK "]"),
                                        LACKED("[" LACK("-1", "1", "1") "," GOOD_LACK "]"),
                                        LACKED("[" LACK("99999999999", "1", "1") "," GOOD_LACK "]"),
                                        LACKED("[" LACK("1", "-1", "1") "," GOOD_LACK "]"),
                                        LACKED("[" LACK("1", "1", "-1") "," GOOD_LACK "]"),
                                        LACKED("[" LACK("1", "1", "1e300") "," GOOD_LACK "]"),
                                        LACKED("[" LACK("1", "1", "\"1\"") "," GOOD_LACK "]"),
                                        LACKED("[{\"id\":1,\"needed\":1,\"at\":1}," GOOD_LACK "]")};
    struct report r;

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        cr_expect_eq(report_parse(&r, texts[i], why), 0, "%s", texts[i]);
        cr_expect(r.lack_count == 1 && report_find_lack(&r, 5, 9), "%s", texts[i]);
    }
    cr_expect_eq(report_parse(&r, LACKED("7"), why), -EINVAL, "no list");
}

#define GOOD_JOB JOB("5", "1", "1")

Test(slurm_report, jobs_that_cannot_be_are_passed_over) {
    static const char *const texts[] = {JOBS("[7," GOOD_JOB "]"),
                                        JOBS("[" JOB("-1", "1", "1") "," GOOD_JOB "]"),
                                        JOBS("[" JOB("99999999999", "1", "1") "," GOOD_JOB "]"),
                                        JOBS("[" JOB("1", "1001", "1") "," GOOD_JOB "]"),
                                        JOBS("[" JOB("1", "1", "1e30") "," GOOD_JOB "]")};
    struct report r;

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        cr_expect_eq(report_parse(&r, texts[i], why), 0, "%s", texts[i]);
        cr_expect(r.job_count == 1 && report_find_job(&r, 5, 9), "%s", texts[i]);
    }
    cr_expect_eq(report_parse(&r, JOBS("7"), why), -EINVAL, "no list");
}

Test(slurm_report, too_many_and_too_much_are_refused) {
    size_t cap = REPORT_BYTES_MOST + 64;
    char *text = calloc(1, cap);
    size_t n = (size_t)sprintf(text, "salus:1 {\"schema\":1,\"gpus\":[");
    struct report r;

    for (int i = 0; i <= REPORT_GPUS_MOST; i++)
        n += (size_t)sprintf(text + n, "%s{\"id\":%d,\"state\":\"ready\",\"memory_bytes\":1}",
                             i ? "," : "", i);
    sprintf(text + n, "]}");
    cr_expect_lt(report_parse(&r, text, why), 0);
    memset(text, ' ', cap - 1);
    memcpy(text, "salus:1", 7);
    cr_expect_eq(report_parse(&r, text, why), -EINVAL);
    cr_expect_str_eq(why, "the report is too long");
    memset(text + 8, '[', 100000);
    text[100008] = '\0';
    cr_expect_eq(report_parse(&r, text, why), -EINVAL, "deep nesting");
    free(text);
}

/* Every prefix of a valid report is invalid, or contains less. */
Test(slurm_report, cut_reports_do_no_harm) {
    const char *whole = GPU("{\"id\":0,\"state\":\"ready\",\"memory_bytes\":1073741824}");
    char cut[256];
    struct report r;

    for (size_t n = 0; n < strlen(whole); n++) {
        snprintf(cut, sizeof(cut), "%.*s", (int)n, whole);
        cr_expect_lt(report_parse(&r, cut, why), 0, "%s", cut);
    }
}

Test(slurm_report, age_is_since_it_changed) {
    struct report_age f = {0};

    cr_expect_eq(report_age_ns(&f, "n1", "a", 100), 0);
    cr_expect_eq(report_age_ns(&f, "n2", "a", 150), 0);
    cr_expect_eq(report_age_ns(&f, "n1", "a", 160), 60);
    cr_expect_eq(report_age_ns(&f, "n1", "b", 170), 0);
    cr_expect_eq(report_age_ns(&f, "n1", "b", 180), 10);
    cr_expect_eq(report_age_ns(&f, "n2", "a", 180), 30);
    for (int i = 0; i < 300; i++) {
        char name[8];
        snprintf(name, sizeof(name), "m%d", i);
        cr_assert_eq(report_age_ns(&f, name, "a", 200), 0);
    }
    cr_expect_eq(report_age_ns(&f, "m7", "a", 300), 100);
    report_age_finish(&f);
}
