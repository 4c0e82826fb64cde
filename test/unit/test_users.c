/* SPDX-License-Identifier: Apache-2.0
 *
 * Jobs of several users on one worker: they never share a lane unless the configuration says so.
 * On a device that moves real bytes.
 */
#include <criterion/criterion.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "common/atomics.h"
#include "test/lib/fakedev.h"
#include "test/lib/wireclient.h"

#define PAGE FAKEDEV_GRANULARITY
#define MIB (1ull << 20)
#define DEVICE (256 * MIB)
#define E0 WIRECLIENT_EPHEMERAL
#define ALICE 1001
#define BOB 1002

static const struct sched_choice one_lane = {.exclusive = -1, .swap = -1, .max_lanes = 1};

static struct wirebench *bench;

static void begin(const struct worker_config *config) {
    struct worker_config c = *config;
    c.ops = &fakedev;
    c.choice = one_lane;
    bench = wirebench_start_as(&c);
}

static void end(void) {
    const char *what;
    cr_expect_eq(fakedev_violations(bench->worker->dev, &what), 0, "%s", what);
    cr_expect_eq(bench->worker->ops->mem_used(bench->worker->dev), 0);
    wirebench_stop(bench);
}

static struct wireclient *join(uint32_t uid, uint64_t ephemeral_bytes) {
    struct wire_job job = {.flags = WIRE_JOB_WORD, .ephemeral_bytes = ephemeral_bytes};
    bench->uid = uid;
    return wireclient_attach_as(bench, &job, 0);
}

static void leave(struct wireclient *c) {
    cr_expect_eq(wireclient_fault(c), 0, "%s", c->com->fault.text);
    wireclient_detach(c);
    wireclient_free(c);
}

/* 0: none. */
static uint64_t lane_of(const struct wireclient *c) {
    usleep(12000); /* the board is brought up to date now and then */
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
