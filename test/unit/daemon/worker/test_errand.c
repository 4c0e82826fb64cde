/* SPDX-License-Identifier: Apache-2.0
 *
 * Errands: what comes back and in which order, what is cancelled, what does not come back.
 */
#include <criterion/criterion.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "common/atomics.h"
#include "daemon/worker/errand/errand.h"
#include "test/lib/patience.h"

struct chore {
    struct errand errand;
    _Atomic bool begun, may_end;
    bool waits;
    char name;
};

static struct errands all;
static char ran[8]; /* names, in order; by the line's thread */
static struct chore a = {.name = 'a'}, b = {.name = 'b'}, c = {.name = 'c'}, d = {.name = 'd'};

static void run_chore(struct errand *e) {
    struct chore *x = list_entry(e, struct chore, errand);
    atom_store_release(&x->begun, true);
    if (x->waits) cr_assert(PATIENCE_UNTIL(atom_load_acquire(&x->may_end)));
    ran[strlen(ran)] = x->name;
}

static void give(struct chore *x, enum errand_line line) {
    x->errand.run = run_chore;
    errand_give(&all, &x->errand, line);
}

static struct errand *taken;
static struct chore *take(void) {
    cr_assert(PATIENCE_UNTIL((taken = errand_take(&all)) != NULL));
    return list_entry(taken, struct chore, errand);
}

static void setup(void) {
    cr_assert_eq(errand_start(&all), 0);
}

static void teardown(void) {
    errand_stop(&all);
}

TestSuite(errand, .init = setup, .fini = teardown);

/* Holds the line until may_end. */
static void occupy(struct chore *x, enum errand_line line) {
    x->waits = true;
    give(x, line);
    cr_assert(PATIENCE_UNTIL(atom_load_acquire(&x->begun)));
}

Test(errand, a_line_is_in_order_and_all_come_back) {
    occupy(&a, ERRAND_SHORT);
    give(&b, ERRAND_SHORT);
    give(&c, ERRAND_SHORT);
    cr_expect_null(errand_take(&all));
    cr_expect_eq(all.away, 3);
    atom_store_release(&a.may_end, true);
    cr_expect_eq(take(), &a);
    cr_expect_eq(take(), &b);
    cr_expect_eq(take(), &c);
    cr_expect_eq(all.away, 0);
    cr_expect_str_eq(ran, "abc");
}

Test(errand, what_is_short_does_not_wait_for_what_is_long) {
    occupy(&a, ERRAND_LONG);
    give(&b, ERRAND_SHORT);
    cr_expect_eq(take(), &b);
    atom_store_release(&a.may_end, true);
    cr_expect_eq(take(), &a);
}

Test(errand, a_cancelled_one_comes_back_without_having_run) {
    occupy(&a, ERRAND_LONG);
    give(&b, ERRAND_LONG);
    errand_cancel(&all, &b.errand);
    errand_cancel(&all, &a.errand); /* too late */
    cr_expect_eq(take(), &b);
    cr_expect_null(errand_take(&all), "the one that runs is still away");
    atom_store_release(&a.may_end, true);
    cr_expect_eq(take(), &a);
    cr_expect_str_eq(ran, "a");
}

Test(errand, whoever_sleeps_is_woken_by_one_that_is_done) {
    struct pollfd p = {.fd = all.event_fd, .events = POLLIN};
    occupy(&a, ERRAND_LONG);
    cr_assert(errand_arm(&all));
    cr_expect_eq(poll(&p, 1, 0), 0);
    atom_store_release(&a.may_end, true);
    cr_expect_eq(poll(&p, 1, patience_ms()), 1);
    cr_expect_not(errand_arm(&all), "it is done already");
    cr_expect_eq(take(), &a);
    cr_expect_eq(poll(&p, 1, 0), 0, "what was taken wakes nobody again");
    give(&b, ERRAND_SHORT);
    cr_expect_eq(take(), &b);
    cr_assert(errand_arm(&all));
    cr_expect_eq(poll(&p, 1, 0), 0, "nobody slept when that one was done");
}

static void *let_go(void *arg) {
    usleep(20000); /* errand_stop is called meanwhile */
    atom_store_release(&b.may_end, true);
    return arg;
}

Test(errand, the_last_ones_are_run_before_the_end) {
    pthread_t thread;
    occupy(&a, ERRAND_LONG);
    b.errand.last = c.errand.last = d.errand.last = true;
    b.waits = true;
    give(&b, ERRAND_LONG);
    give(&c, ERRAND_LONG);
    cr_expect_eq(all.away, 1);
    atom_store_release(&a.may_end, true);
    cr_expect_eq(take(), &a);
    give(&d, ERRAND_LONG);
    cr_assert_eq(pthread_create(&thread, NULL, let_go, NULL), 0);
    errand_stop(&all);
    pthread_join(thread, NULL);
    cr_expect_str_eq(ran, "abcd");
    setup();
}
