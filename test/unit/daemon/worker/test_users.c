/* SPDX-License-Identifier: Apache-2.0
 *
 * Jobs of several users on one worker: they share a lane only if the configuration allows it, and
 * then a user never sees another user's data. Runs on a device that moves real bytes.
 */
#include <criterion/criterion.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "common/atomics.h"
#include "daemon/worker/loop.h"
#include "test/lib/patience.h"
#include "test/lib/worker/fakedev.h"
#include "test/lib/worker/wireclient.h"

#define PAGE FAKEDEV_GRANULARITY
#define MIB (1ull << 20)
#define DEVICE (256 * MIB)
#define E0 WIRECLIENT_EPHEMERAL
#define ALICE 1001
#define BOB 1002

static const struct policy_config one_lane = {.exclusive = -1, .swap = -1, .max_lanes = 1};

static struct wirebench *bench;

static void begin(const struct worker_config *config) {
    struct worker_config c = *config;
    c.ops = &fakedev;
    c.policy = one_lane;
    bench = wirebench_start_as(&c);
}

static void end(void) {
    const char *what;
    cr_expect_eq(fakedev_violations(bench->worker->dev, &what), 0, "%s", what);
    cr_expect_eq(bench->worker->ops->mem_used(bench->worker->dev), 0);
    wirebench_stop(bench);
}

static struct wireclient *join(uint32_t uid, uint64_t ephemeral_bytes) {
    struct wire_job job = {.flags = WIRE_JOB_RESERVED, .ephemeral_bytes = ephemeral_bytes};
    bench->uid = uid;
    struct wireclient *c = wireclient_attach_as(bench, &job, 0);
    if (wireclient_reply(c, wireclient_ping(c)) || wireclient_result(c, c->ticket) == 0)
        wireclient_kernels(c, "kern");
    return c;
}

static void leave(struct wireclient *c) {
    cr_expect_eq(wireclient_fault(c), 0, "%s", c->com->fault.text);
    wireclient_detach(c);
    wireclient_free(c);
}

/* The job's lane; 0: none. */
static uint64_t lane_of(const struct wireclient *c) {
    usleep(12000); /* the board is updated only now and then */
    wireclient_ping((struct wireclient *)c);
    wirebench_run(bench);
    return atom_load_relaxed(&c->com->stats.lane);
}

/* ---- lanes ----------------------------------------------------------------------------------- */

Test(users, a_lane_is_not_shared_with_another_user) {
    begin(&(struct worker_config){0});
    struct wireclient *a = join(ALICE, PAGE), *b = join(BOB, PAGE), *a2 = join(ALICE, PAGE);
    cr_expect_eq(lane_of(a), 1);
    cr_expect_eq(lane_of(a2), 1);
    cr_expect_eq(lane_of(b), 0, "it waits: there is but one lane");
    leave(a);
    cr_expect_eq(lane_of(b), 0, "alice is still in it");
    leave(a2);
    cr_expect_eq(lane_of(b), 1);
    leave(b);
    end();
}

Test(users, a_lane_is_shared_where_users_share) {
    begin(&(struct worker_config){.share_users = true});
    struct wireclient *a = join(ALICE, PAGE), *b = join(BOB, PAGE);
    cr_expect_eq(lane_of(a), 1);
    cr_expect_eq(lane_of(b), 1);
    leave(a);
    leave(b);
    end();
}

/* ---- bytes ----------------------------------------------------------------------------------- */

static uint64_t stat_of(const _Atomic uint64_t *counter) {
    return atom_load_relaxed(counter);
}

static void back(struct wireclient *c, uint64_t offset, uint64_t bytes) {
    cr_assert_eq(wireclient_result(c, wireclient_mem(c, WIRE_MEM_BACK, offset, bytes)), 0);
}

/* Lets time pass until the client's stream is complete and the boundary after it is passed. */
static void finish(struct wireclient *c) {
    cr_assert(PATIENCE_UNTIL((wirebench_run(bench), wireclient_done(c, 0) == c->seq[0] &&
                                                        !bench->worker->boundaries.early)),
              "job %u hangs", c->job_id);
}

/* Fills this many pages of the client's ephemeral window with the byte, in a separate iteration. */
static void fill(struct wireclient *c, uint64_t pages, unsigned char byte) {
    memset(c->host, byte, PAGE);
    wireclient_launch(c, 0, 0, byte);
    for (uint64_t i = 0; i < pages; i++)
        wireclient_copy(c, 0, c->windows.dev_base + E0 + i * PAGE, c->windows.host_base, PAGE);
    wireclient_say(c, WIRE_ITERATION);
    finish(c);
    cr_assert_eq(wireclient_fault(c), 0, "%s", c->com->fault.text);
}

/* The byte that fills the whole page; -1: there are several. */
static int look(struct wireclient *c, uint64_t page) {
    const unsigned char *at = (unsigned char *)c->host + 4 * MIB;
    wireclient_copy(c, 0, c->windows.host_base + 4 * MIB, c->windows.dev_base + E0 + page * PAGE,
                    PAGE);
    finish(c);
    for (uint64_t i = 1; i < PAGE; i++)
        if (at[i] != at[0]) return -1;
    return at[0];
}

static struct wireclient *join_backed(uint32_t uid, uint64_t pages) {
    struct wireclient *c = join(uid, pages * PAGE);
    back(c, E0, pages * PAGE);
    return c;
}

static const struct worker_config sharing = {.share_users = true};

Test(users, a_lane_that_changes_its_user_is_cleared) {
    begin(&sharing);
    struct wireclient *a = join_backed(ALICE, 3), *b = join_backed(BOB, 2);
    fill(a, 3, 0xa1);
    for (uint64_t page = 0; page < 2; page++)
        cr_expect_eq(look(b, page), 0);
    cr_expect_eq(stat_of(&b->com->stats.cleared_bytes), 2 * PAGE, "no more than it could see");
    fill(b, 2, 0xb1);
    for (uint64_t page = 0; page < 3; page++)
        cr_expect_eq(look(a, page), page < 2 ? 0 : 0xa1);
    cr_expect_eq(stat_of(&a->com->stats.cleared_bytes), 2 * PAGE);
    cr_expect_eq(fakedev_clears(bench->worker->dev), 4);
    cr_expect_eq(stat_of(&a->com->stats.switched_bytes), 0, "and nothing is moved");
    leave(a);
    leave(b);
    end();
}

Test(users, nothing_is_cleared_between_jobs_of_one_user) {
    begin(&sharing);
    struct wireclient *a = join_backed(ALICE, 2), *a2 = join_backed(ALICE, 2);
    for (int i = 0; i < 3; i++) {
        fill(a, 2, 0xa1);
        cr_expect_eq(look(a2, 1), 0xa1);
        fill(a2, 2, 0xa2);
    }
    cr_expect_eq(fakedev_clears(bench->worker->dev), 0);
    leave(a);
    leave(a2);
    end();
}

Test(users, but_where_that_is_asked_for) {
    begin(&(struct worker_config){.clear_always = true});
    struct wireclient *a = join_backed(ALICE, 2), *a2 = join_backed(ALICE, 2);
    fill(a, 2, 0xa1);
    fill(a, 1, 0xa1);
    cr_expect_eq(look(a, 1), 0xa1, "its own iterations");
    wireclient_say(a, WIRE_ITERATION);
    finish(a);
    cr_expect_eq(look(a2, 0), 0);
    cr_expect_eq(look(a2, 1), 0);
    cr_expect_eq(stat_of(&a2->com->stats.cleared_bytes), 2 * PAGE);
    leave(a);
    leave(a2);
    end();
}

/* The reservation was too small: memory that the job asks for during its turn is cleared at
 * once. */
Test(users, what_a_job_grows_into_is_cleared) {
    begin(&sharing);
    struct wireclient *a = join_backed(ALICE, 5), *b = join_backed(BOB, 1);
    fill(a, 5, 0xa1);
    wireclient_launch(b, 0, 0, 1);
    finish(b);
    cr_expect_eq(stat_of(&b->com->stats.cleared_bytes), PAGE);
    back(b, E0 + PAGE, 3 * PAGE);
    cr_expect_eq(stat_of(&b->com->stats.cleared_bytes), 4 * PAGE);
    for (uint64_t page = 0; page < 4; page++)
        cr_expect_eq(look(b, page), 0);
    leave(a);
    leave(b);
    end();
}

/* Memory within the reservation is cleared before the turn begins, so that backing clears
 * nothing. */
Test(users, what_a_job_said_it_needs_is_cleared_before_it_runs) {
    begin(&sharing);
    struct wireclient *a = join_backed(ALICE, 5), *b = join(BOB, 5 * PAGE);
    fill(a, 5, 0xa1);
    wireclient_launch(b, 0, 0, 1);
    finish(b);
    cr_expect_eq(stat_of(&b->com->stats.cleared_bytes), 5 * PAGE);
    back(b, E0, 5 * PAGE);
    cr_expect_eq(stat_of(&b->com->stats.cleared_bytes), 5 * PAGE);
    cr_expect_eq(look(b, 4), 0);
    leave(a);
    leave(b);
    end();
}

/* ---- clearing in steps ----------------------------------------------------------------------- */

#define MANY 30ull /* pages to clear; a window has 32 */

/* Two lanes: the one being cleared, and a bystander's. */
static void begin_two_lanes(void) {
    struct worker_config c = sharing;
    c.ops = &fakedev;
    c.policy = one_lane;
    c.policy.max_lanes = 2;
    bench = wirebench_start_as(&c);
}

Test(users, clearing_goes_in_steps_and_others_run_meanwhile) {
    begin_two_lanes();
    struct wireclient *a = join_backed(ALICE, MANY), *c = join_backed(BOB, 1);
    cr_assert_neq(lane_of(a), lane_of(c));
    fill(a, MANY, 0xa1);
    struct wireclient *b = join_backed(BOB, MANY);
    cr_assert_eq(lane_of(a), lane_of(b));
    fakedev_forget_launches(bench->worker->dev);
    wireclient_launch(b, 0, 0, 1);
    uint64_t most = 0, before = 0, others = 0;
    for (int i = 0; wireclient_done(b, 0) != b->seq[0]; i++) {
        cr_assert_lt(i, 1000, "it hangs");
        if (i % 2) wireclient_launch(c, 0, 0, 2);
        loop_once(bench->worker);
        uint64_t now = stat_of(&b->com->stats.cleared_bytes);
        if (now - before > most) most = now - before;
        before = now;
        if (now < MANY * PAGE) cr_assert_neq(wireclient_done(b, 0), b->seq[0], "it runs too early");
        if (now && now < MANY * PAGE) others = wireclient_done(c, 0);
    }
    cr_expect_eq(before, MANY * PAGE);
    cr_expect_leq(most, 4 * PAGE, "%lu bytes in one step", (unsigned long)most);
    cr_expect_gt(others, 0, "the bystander waited");
    cr_expect_eq(look(b, MANY - 1), 0);
    leave(a);
    leave(b);
    leave(c);
    end();
}

Test(users, a_job_that_ends_while_its_lane_is_cleared) {
    begin(&sharing);
    struct wireclient *a = join_backed(ALICE, MANY), *b = join_backed(BOB, MANY);
    fill(a, MANY, 0xa1);
    uint32_t before = fakedev_launches(bench->worker->dev);
    for (int i = 0; i < 20; i++)
        wireclient_launch(b, 0, 0, 1);
    for (int i = 0; i < 4; i++)
        loop_once(bench->worker);
    wireclient_detach(b);
    uint64_t cleared = stat_of(&b->com->stats.cleared_bytes);
    cr_expect(cleared > 0 && cleared < MANY * PAGE);
    wireclient_free(b);
    cr_expect_eq(fakedev_launches(bench->worker->dev), before, "nothing of it ran");
    struct wireclient *d = join_backed(BOB + 1, MANY);
    cr_expect_eq(look(d, 0), 0);
    cr_expect_eq(look(d, MANY - 1), 0);
    cr_expect_eq(stat_of(&d->com->stats.cleared_bytes), MANY * PAGE, "b might have run");
    leave(a);
    leave(d);
    end();
}

Test(users, a_worker_that_sleeps_does_not_forget_what_is_to_be_cleared) {
    begin(&sharing);
    struct wireclient *a = join_backed(ALICE, MANY), *b = join_backed(BOB, MANY);
    fill(a, MANY, 0xa1);
    wirebench_thread(bench);
    usleep(20000); /* longer than any spinning */
    cr_expect_eq(look(b, MANY - 1), 0);
    leave(a);
    leave(b);
    end();
}

Test(users, a_device_that_cannot_clear_costs_the_newcomer_its_job) {
    begin(&sharing);
    struct wireclient *a = join_backed(ALICE, 2), *b = join_backed(BOB, 2);
    fill(a, 2, 0xa1);
    fakedev_fail(bench->worker->dev, 1, true);
    wireclient_launch(b, 0, 0, 1);
    wirebench_run(bench);
    fakedev_fail(bench->worker->dev, 0, false);
    cr_expect_neq(wireclient_fault(b), 0);
    cr_expect_neq(strstr(b->com->fault.text, "could not be cleared"), NULL, "%s",
                  b->com->fault.text);
    wireclient_detach(b);
    wireclient_free(b);
    cr_expect_eq(look(a, 1), 0xa1);
    leave(a);
    end();
}
