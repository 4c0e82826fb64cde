/* SPDX-License-Identifier: Apache-2.0
 *
 * Tasks that only take time, on a clock that the test advances.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "common/atomics.h"
#include "common/err.h"
#include "daemon/device/soft/dev/timeline.h"

#define SMS 16

static struct timeline tl;
static struct dev_queue queues[2]; /* one per level */
static struct dev_op ops[8];
static struct task tasks[8];

static void start(void) {
    timeline_init(&tl, SMS);
    for (uint32_t level = 0; level < 2; level++)
        queues[level].level = level;
    memset(ops, 0, sizeof(ops));
    memset(tasks, 0, sizeof(tasks));
    for (int i = 0; i < 8; i++) {
        tasks[i].op = &ops[i];
        tasks[i].kind = TASK_SPEND;
        list_init(&tasks[i].ready_link);
    }
}

TestSuite(timeline, .init = start);

static void add(int i, uint32_t level, uint32_t sms, uint64_t ns, uint64_t now_ns) {
    tasks[i].queue = &queues[level];
    tasks[i].spend = (struct spend){.ns = ns, .sms = sms};
    timeline_add(&tl, &tasks[i], now_ns);
}

/* Returns the next task that has ended by `now_ns`; -1: none. */
static int next(uint64_t now_ns) {
    struct task *t = timeline_next(&tl, now_ns);
    return t ? (int)(t - tasks) : -1;
}

static void check(int i, uint64_t start_ns, uint64_t end_ns, uint64_t busy_ns) {
    cr_assert(ops[i].start_ns == start_ns && ops[i].end_ns == end_ns && ops[i].busy_ns == busy_ns,
              "%d: %lu to %lu, busy %lu", i, ops[i].start_ns, ops[i].end_ns, ops[i].busy_ns);
}

Test(timeline, a_task_takes_its_time) {
    add(0, 0, SMS, 100, 1000);
    cr_assert_eq(next(1000), -1);
    cr_assert_eq(timeline_end_ns(&tl), 1100);
    cr_assert_eq(next(1099), -1);
    cr_assert_eq(next(1100), 0);
    check(0, 1000, 1100, 100);
    cr_assert_eq(next(5000), -1);
    cr_assert_eq(timeline_end_ns(&tl), UINT64_MAX);
}

Test(timeline, those_that_fit_run_side_by_side) {
    add(0, 0, 4, 100, 1000);
    add(1, 0, 12, 50, 1010);
    add(2, 0, 1, 10, 1020);
    cr_assert_eq(next(2000), 1);
    check(1, 1010, 1060, 50 * 12 / SMS);
    cr_assert_eq(next(2000), 2, "it waited for the second");
    check(2, 1060, 1070, 0);
    cr_assert_eq(next(2000), 0);
    check(0, 1000, 1100, 25);
}

Test(timeline, what_is_larger_than_the_device_has_all_of_it) {
    add(0, 0, 1000, 100, 1000);
    add(1, 0, 1, 100, 1000);
    cr_assert_eq(next(2000), 0);
    check(0, 1000, 1100, 100);
    cr_assert_eq(next(2000), 1);
    check(1, 1100, 1200, 100 / SMS);
}

Test(timeline, nobody_passes_one_that_does_not_fit) {
    add(0, 0, 10, 100, 1000);
    add(1, 0, SMS, 100, 1001);
    add(2, 0, 1, 1, 1002);
    cr_assert_eq(next(9000), 0);
    cr_assert_eq(next(9000), 1);
    check(1, 1100, 1200, 100);
    cr_assert_eq(next(9000), 2);
    check(2, 1200, 1201, 0);
}

Test(timeline, the_higher_level_goes_first) {
    add(0, 0, SMS, 100, 1000);
    cr_assert_eq(next(1000), -1);
    add(1, 0, SMS, 100, 1001);
    add(2, 1, SMS, 100, 1002);
    cr_assert_eq(next(9000), 0);
    cr_assert_eq(next(9000), 2);
    check(2, 1100, 1200, 100);
    cr_assert_eq(next(9000), 1);
    check(1, 1200, 1300, 100);
}

Test(timeline, a_level_may_change_while_it_waits) {
    add(0, 0, SMS, 100, 1000);
    cr_assert_eq(next(1000), -1);
    add(1, 0, SMS, 100, 1001);
    add(2, 0, SMS, 100, 1002);
    tasks[2].queue = &queues[1];
    timeline_add(&tl, &tasks[2], 1050);
    tasks[0].queue = &queues[1]; /* the task runs already: nothing changes */
    timeline_add(&tl, &tasks[0], 1050);
    cr_assert_eq(next(9000), 0);
    check(0, 1000, 1100, 100);
    cr_assert_eq(next(9000), 2);
    cr_assert_eq(next(9000), 1);
    cr_assert_eq(next(9000), -1);
}

/* The start does not depend on when the timeline is polled. */
Test(timeline, a_successor_begins_when_the_one_before_it_ended) {
    add(0, 0, SMS, 100, 1000);
    for (int i = 0; i < 5; i++) {
        cr_assert_eq(next(9000), i);
        check(i, 1000 + (uint64_t)i * 100, 1100 + (uint64_t)i * 100, 100);
        add(i + 1, 0, SMS, 100, 9000);
    }
    cr_assert_eq(next(1550), -1, "and no sooner than it ends");
    cr_assert_eq(next(1600), 5);
    cr_assert_eq(next(9000), -1);
    add(6, 0, SMS, 100, 9500);
    cr_assert_eq(next(9999), 6);
    check(6, 9500, 9600, 100);
}

Test(timeline, a_task_does_not_begin_before_it_came) {
    add(0, 0, SMS, 100, 1000);
    cr_assert_eq(next(1050), -1);
    add(1, 0, SMS, 100, 5000);
    cr_assert_eq(next(5000), 0);
    cr_assert_eq(next(9000), 1);
    check(1, 5000, 5100, 100);
}

static void cancel(int i, uint64_t now_ns) {
    atom_store_relaxed(&tasks[i].cancelled, true);
    timeline_add(&tl, &tasks[i], now_ns);
}

Test(timeline, cancelled_ones_end_at_once) {
    add(0, 0, 8, 1000000, 1000);
    cr_assert_eq(next(1000), -1);
    add(1, 0, SMS, 50, 1010);
    add(2, 0, SMS, 50, 1020);
    cancel(0, 1100);
    cancel(1, 1100);
    cancel(1, 1101); /* a second time: no effect */
    cr_assert_eq(timeline_end_ns(&tl), 0, "there is something to do now");
    cr_assert_eq(next(1200), 0);
    cr_assert_eq(ops[0].result, ERR_CANCELLED);
    check(0, 1000, 1100, 50);
    cr_assert_eq(next(1200), 1);
    cr_assert_eq(ops[1].result, ERR_CANCELLED);
    check(1, 1100, 1100, 0);
    cr_assert_eq(next(1200), 2, "what they had is free");
    cr_assert_eq(ops[2].result, 0);
    check(2, 1100, 1150, 50);
    cr_assert_eq(tl.free_sms, SMS);
}
