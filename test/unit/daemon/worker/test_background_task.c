/* SPDX-License-Identifier: Apache-2.0
 *
 * Background tasks: completion order, cancellation, and tasks that do not complete.
 */
#include <criterion/criterion.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "common/atomics.h"
#include "daemon/worker/background/background_task.h"
#include "test/lib/patience.h"

struct chore {
    struct background_task background_task;
    _Atomic bool begun, may_end;
    bool waits;
    char name;
};

static struct background_tasks all;
static char ran[8]; /* names of the tasks that ran, in order; written by the line's thread */
static struct chore a = {.name = 'a'}, b = {.name = 'b'}, c = {.name = 'c'}, d = {.name = 'd'};

static void run_chore(struct background_task *e) {
    struct chore *x = list_entry(e, struct chore, background_task);
    atom_store_release(&x->begun, true);
    if (x->waits) cr_assert(PATIENCE_UNTIL(atom_load_acquire(&x->may_end)));
    ran[strlen(ran)] = x->name;
}

static void give(struct chore *x, enum background_line line) {
    x->background_task.run = run_chore;
    background_give(&all, &x->background_task, line);
}

static struct background_task *taken;
static struct chore *take(void) {
    cr_assert(PATIENCE_UNTIL((taken = background_take(&all)) != NULL));
    return list_entry(taken, struct chore, background_task);
}

static void setup(void) {
    cr_assert_eq(background_start(&all), 0);
}

static void teardown(void) {
    background_stop(&all);
}

TestSuite(background_task, .init = setup, .fini = teardown);

/* Blocks the line until may_end. */
static void occupy(struct chore *x, enum background_line line) {
    x->waits = true;
    give(x, line);
    cr_assert(PATIENCE_UNTIL(atom_load_acquire(&x->begun)));
}

Test(background_task, a_line_is_in_order_and_all_come_back) {
    occupy(&a, BACKGROUND_SHORT);
    give(&b, BACKGROUND_SHORT);
    give(&c, BACKGROUND_SHORT);
    cr_expect_null(background_take(&all));
    cr_expect_eq(all.away, 3);
    atom_store_release(&a.may_end, true);
    cr_expect_eq(take(), &a);
    cr_expect_eq(take(), &b);
    cr_expect_eq(take(), &c);
    cr_expect_eq(all.away, 0);
    cr_expect_str_eq(ran, "abc");
}

Test(background_task, what_is_short_does_not_wait_for_what_is_long) {
    occupy(&a, BACKGROUND_LONG);
    give(&b, BACKGROUND_SHORT);
    cr_expect_eq(take(), &b);
    atom_store_release(&a.may_end, true);
    cr_expect_eq(take(), &a);
}

Test(background_task, a_cancelled_one_comes_back_without_having_run) {
    occupy(&a, BACKGROUND_LONG);
    give(&b, BACKGROUND_LONG);
    background_cancel(&all, &b.background_task);
    background_cancel(&all, &a.background_task); /* too late to cancel */
    cr_expect_eq(take(), &b);
    cr_expect_null(background_take(&all), "the one that runs is still away");
    atom_store_release(&a.may_end, true);
    cr_expect_eq(take(), &a);
    cr_expect_str_eq(ran, "a");
}

Test(background_task, whoever_sleeps_is_woken_by_one_that_is_done) {
    struct pollfd p = {.fd = all.event_fd, .events = POLLIN};
    occupy(&a, BACKGROUND_LONG);
    cr_assert(background_arm(&all));
    cr_expect_eq(poll(&p, 1, 0), 0);
    atom_store_release(&a.may_end, true);
    cr_expect_eq(poll(&p, 1, patience_ms()), 1);
    cr_expect_not(background_arm(&all), "it is done already");
    cr_expect_eq(take(), &a);
    cr_expect_eq(poll(&p, 1, 0), 0, "what was taken wakes nobody again");
    give(&b, BACKGROUND_SHORT);
    cr_expect_eq(take(), &b);
    cr_assert(background_arm(&all));
    cr_expect_eq(poll(&p, 1, 0), 0, "nobody slept when that one was done");
}

static void *let_go(void *arg) {
    usleep(20000); /* background_stop runs meanwhile */
    atom_store_release(&b.may_end, true);
    return arg;
}

Test(background_task, the_last_ones_are_run_before_the_end) {
    pthread_t thread;
    occupy(&a, BACKGROUND_LONG);
    b.background_task.last = c.background_task.last = d.background_task.last = true;
    b.waits = true;
    give(&b, BACKGROUND_LONG);
    give(&c, BACKGROUND_LONG);
    cr_expect_eq(all.away, 1);
    atom_store_release(&a.may_end, true);
    cr_expect_eq(take(), &a);
    give(&d, BACKGROUND_LONG);
    cr_assert_eq(pthread_create(&thread, NULL, let_go, NULL), 0);
    background_stop(&all);
    pthread_join(thread, NULL);
    cr_expect_str_eq(ran, "abcd");
    setup();
}
