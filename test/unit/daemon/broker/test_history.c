/* SPDX-License-Identifier: Apache-2.0
 *
 * The history: a reported end applies only to the jobs of that user's run, and other users do not
 * see a job's name.
 */
#include "daemon/broker/jobs/history.h"

#include <criterion/criterion.h>
#include <string.h>
#include <unistd.h>

#include "daemon/broker/jobs/report_job.h"

static struct attachment job_of(uid_t uid, uint32_t run) {
    struct attachment a = {.job_id = uid, .job = {.uid = uid, .name = "a", .gpu = 0}};

    a.job.spec.run = run;
    strcpy(a.job.command, "secret --token 1");
    return a;
}

static struct ctl_ended items[2];
static int count;

static void take(void *arg, const void *record) {
    cr_assert_lt(count, 2);
    memcpy(&items[count++], record, sizeof(items[0]));
}

static void expect_exits(const struct history *h, const char *first, const char *second) {
    struct ctl_out *out = ctl_msg_create();
    struct ctl_reply r;
    const void *bytes;
    char why[256];
    size_t n;

    count = 0;
    cr_assert_eq(history_list(h, 0, getuid(), out), 0);
    cr_assert_eq(ctl_msg_reply(out, 0, &bytes, &n), 0);
    cr_assert_eq(ctl_msg_reply_decode(bytes, n, CTL_RECORD_ENDED, &r, take, NULL, why, sizeof(why)),
                 0);
    cr_assert_eq(count, 2);
    cr_expect_str_eq(items[0].exit, first);
    cr_expect_str_eq(items[1].exit, second);
    ctl_msg_destroy(out);
}

Test(history, an_end_is_told_of_the_same_users_run_alone) {
    struct history *h = history_create();
    struct attachment a = job_of(4711, 7), b = job_of(4712, 7);

    history_add(h, &a);
    history_add(h, &b);
    history_exited(h, 4711, 7, "31");
    history_exited(h, 4712, 8, "32");
    history_exited(h, 4713, 7, "33");
    expect_exits(h, "31", "unknown");
    history_exited(h, 4712, 7, "34");
    expect_exits(h, "31", "34");
    history_destroy(h);
}

Test(history, the_command_line_is_its_users_and_roots) {
    struct attachment a = job_of(4711, 7);
    struct ctl_ended e = {0};

    report_job_ended(&a, &e);
    report_ended_hide(4711, &e);
    cr_expect_str_eq(e.command, "secret --token 1");
    report_ended_hide(0, &e);
    cr_expect_str_eq(e.command, "secret --token 1");
    report_ended_hide(4712, &e);
    cr_expect_str_eq(e.command, "");
    cr_expect_str_eq(e.exit, "unknown");
}
