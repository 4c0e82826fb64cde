/* SPDX-License-Identifier: Apache-2.0
 *
 * Device memory that is shown to each client as obtainable: it is granted, and one granule more is
 * not.
 */
#include <criterion/criterion.h>

#include "common/atomics.h"
#include "common/err.h"
#include "daemon/worker/residency/obtainable.h"
#include "daemon/worker/residency/user_limits.h"
#include "test/lib/worker/fakedev.h"
#include "test/lib/worker/wireclient.h"

#define G FAKEDEV_GRANULARITY

static struct wirebench *b;
static struct wireclient *rest;
static uint64_t all; /* granules that the jobs of a test can get */

static struct wireclient *attach(uint32_t uid, uint64_t p, uint64_t e) {
    struct wire_job job = {
        .flags = WIRE_JOB_RESERVED, .persistent_bytes = p * G, .ephemeral_bytes = e * G};
    b->uid = uid;
    struct wireclient *c = wireclient_attach_as(b, &job, 0);
    wirebench_run(b);
    return c;
}

static void end(struct wireclient *c) {
    wireclient_detach(c);
    wireclient_free(c);
}

/* Windows are smaller than the fake device, so another client has the rest of it. */
static void setup(void) {
    b = wirebench_start(&fakedev, 0);
    all = 24;
    rest = attach(99, b->worker->info.memory_bytes / G - all, 0);
}

static void teardown(void) {
    end(rest);
    wirebench_stop(b);
}

TestSuite(obtainable, .init = setup, .fini = teardown, .timeout = 60);

static uint64_t shown(const struct wireclient *c) {
    return atom_load_relaxed(&c->com->obtainable.persistent);
}

static uint64_t shown_free(const struct wireclient *c) {
    return atom_load_relaxed(&c->com->obtainable.free_bytes) / G;
}

static int back(struct wireclient *c, uint64_t from, uint64_t count) {
    return wireclient_result(c, wireclient_mem(c, WIRE_MEM_BACK, from * G, count * G));
}

/* Takes all that is shown, and then expects that one granule more is refused; `e` granules are
 * reserved for iterations. */
static void take_all(struct wireclient *c, uint64_t e) {
    uint64_t n = shown(c);
    cr_assert_eq(back(c, 0, n), 0);
    cr_expect_eq(shown(c), n, "it is its own now");
    cr_expect_eq(shown_free(c), e);
    cr_expect_eq(atom_load_relaxed(&c->com->obtainable.ephemeral), e);
    cr_expect_eq(back(c, n, 1), ERR_NO_MEMORY);
}

Test(obtainable, others_reservations_are_not) {
    struct wireclient *first = attach(7, 6, 4), *second = attach(7, 3, 0);
    cr_expect_eq(shown(first), all - 4 - 3, "its lane is not for what outlives iterations");
    cr_expect_eq(shown(second), all - 10);
    cr_expect_eq(shown_free(second), all - 10);
    cr_assert_eq(back(first, 0, 8), 0);
    cr_expect_eq(shown(second), all - 12, "before anybody could be told of it");
    take_all(second, 0);
    cr_expect_eq(shown(first), 8);
    end(second);
    cr_expect_eq(shown(first), all - 4, "it is given back");
    end(first);
}

Test(obtainable, a_users_limit_bounds_all_of_his_jobs) {
    struct wire_limits limits = {.device_bytes = 12 * G};
    struct wireclient *first = attach(7, 3, 2), *second = attach(7, 0, 0), *other = attach(8, 0, 0);
    user_limits_set(b->worker, 7, &limits);
    obtainable_update(b->worker);
    cr_expect_eq(shown(first), 10);
    cr_expect_eq(shown(second), 7);
    cr_expect_eq(shown(other), all - 5);
    take_all(second, 0);
    cr_expect_eq(shown(first), 3);
    cr_expect_eq(shown(other), all - 12);
    end(second);
    take_all(first, 2);
    end(first);
    end(other);
}

Test(obtainable, who_waits_is_shown_nothing) {
    struct wireclient *first = attach(7, all, 0), *second = attach(7, 1, 0);
    cr_expect_eq(shown(first), all);
    cr_expect_eq(shown(second), 0);
    end(first);
    wirebench_run(b);
    cr_expect_eq(shown(second), all);
    end(second);
}

/* A job with unknown reservation asks for a large part of the device. */
Test(obtainable, an_unknown_job_can_have_what_is_free) {
    end(rest);
    rest = attach(99, 3, 0);
    const uint64_t free = b->worker->info.memory_bytes / G - 3;
    struct wire_job job = {0};
    struct wireclient *c = wireclient_attach_as(b, &job, 0);
    wirebench_run(b);
    cr_expect_eq(shown(c), free);
    cr_assert_eq(back(c, WIRECLIENT_EPHEMERAL / G, 5), 0);
    cr_expect_eq(shown(c), free - 5);
    cr_assert_eq(back(c, 0, 8), 0);
    cr_expect_eq(shown_free(c), free - 13);
    end(c);
}
