/* SPDX-License-Identifier: Apache-2.0
 *
 * The benches' timeline: tasks share the multiprocessors.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "common/err.h"
#include "daemon/device/soft/dev/timeline.h"

#define SMS 16

static struct timeline tl;
static struct dev_queue queue;
static struct dev_op ops[4];
static struct task tasks[4];

static void start(void) {
    timeline_init(&tl, SMS);
    memset(ops, 0, sizeof(ops));
    memset(tasks, 0, sizeof(tasks));
    for (int i = 0; i < 4; i++) {
        tasks[i].op = &ops[i];
        tasks[i].queue = &queue;
        tasks[i].kind = TASK_SPEND;
        list_init(&tasks[i].ready_link);
    }
}

TestSuite(fluid_timeline, .init = start);

static void add(int i, uint32_t sms, uint64_t ns, uint64_t now_ns) {
    tasks[i].spend = (struct spend){.ns = ns, .sms = sms};
    timeline_add(&tl, &tasks[i], now_ns);
}

static int next(uint64_t now_ns) {
    struct task *t = timeline_next(&tl, now_ns);
    return t ? (int)(t - tasks) : -1;
}

Test(fluid_timeline, two_that_want_all_have_half_each) {
    add(0, SMS, 1000, 10000);
    cr_assert_eq(next(10000), -1);
    add(1, 2 * SMS, 1000, 10500); /* half of the first task is done */
    cr_assert_eq(next(10500), -1);
    cr_assert_eq(timeline_end_ns(&tl), 11500);
    cr_assert_eq(next(99999), 0);
    cr_expect_eq(ops[0].end_ns, 11500);
    cr_assert_eq(next(99999), 1);
    cr_expect_eq(ops[1].end_ns, 12000, "the second half of it alone");
    cr_expect_eq(ops[0].busy_ns + ops[1].busy_ns, 2000);
}

Test(fluid_timeline, who_wants_little_has_it_and_the_others_the_rest) {
    add(0, 4, 1000, 10000);
    add(1, SMS, 1200, 10000);
    cr_assert_eq(next(99999), 0);
    cr_expect_eq(ops[0].end_ns, 11000);
    cr_assert_eq(next(99999), 1);
    cr_expect_eq(ops[1].end_ns, 11450, "750 of it beside the other");
}

Test(fluid_timeline, a_successor_begins_when_the_one_before_it_ended) {
    add(0, SMS, 1000, 10000);
    cr_assert_eq(next(90000), 0);
    add(1, SMS, 1000, 90000);
    cr_assert_eq(next(90000), 1);
    cr_expect_eq(ops[1].start_ns, 11000);
    cr_expect_eq(ops[1].end_ns, 12000);
    cr_assert_eq(next(90000), -1);
    cr_assert_eq(timeline_end_ns(&tl), UINT64_MAX);
}

Test(fluid_timeline, who_is_cancelled_leaves_what_it_had) {
    add(0, SMS, 1000, 10000);
    add(1, SMS, 1000, 10000);
    cr_assert_eq(next(10000), -1);
    tasks[0].cancelled = true;
    timeline_add(&tl, &tasks[0], 10000);
    cr_assert_eq(timeline_end_ns(&tl), 0);
    cr_assert_eq(next(10000), 0);
    cr_expect_eq(ops[0].result, ERR_CANCELLED);
    cr_assert_eq(next(99999), 1);
    cr_expect_eq(ops[1].end_ns, 11000);
}
