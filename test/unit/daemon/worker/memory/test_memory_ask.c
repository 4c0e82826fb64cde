/* SPDX-License-Identifier: Apache-2.0
 *
 * Requests for more memory than was granted: answered in the round in which they were posted, or
 * later; refused; from a client that ends before the answer, and on a device that is lost before
 * it.
 */
#include <criterion/criterion.h>
#include <errno.h>

#include "common/atomics.h"
#include "common/err.h"
#include "daemon/device/device_driver.h"
#include "daemon/device/device_settings.h"
#include "daemon/sched/core/view.h"
#include "daemon/worker/client.h"
#include "daemon/worker/faults/fault.h"
#include "daemon/worker/front/chan.h"
#include "daemon/worker/loop.h"
#include "daemon/worker/operations/pump.h"
#include "daemon/worker/residency/lane_table.h"
#include "daemon/worker/residency/memory_move.h"
#include "daemon/worker/residency/user_limits.h"
#include "daemon/worker/scheduling/sched_link.h"
#include "proto/cuda/cuda_abi.h"
#include "test/lib/worker/fakedev.h"
#include "test/lib/worker/wireclient.h"

#define PAGE FAKEDEV_GRANULARITY
#define DEVICE (256ull << 20)
#define NO_MEMORY (-5025)

/* A device that the test can lose, and whose modules and limits take memory. */
static int lost_err;
static uint64_t module_bytes, limit_bytes;

static int lost(struct dev *dev) {
    (void)dev;
    return lost_err;
}

static uint64_t mem_used(struct dev *dev) {
    return fakedev.mem_used(dev) + module_bytes + limit_bytes;
}

static int module_place(struct dev_module *module, char *why, size_t why_bytes) {
    module_bytes += PAGE;
    return fakedev.module_place(module, why, why_bytes);
}

static void module_remove(struct dev_module *module) {
    module_bytes -= PAGE;
    fakedev.module_remove(module);
}

static uint64_t space_limit_bytes(const struct dev_space *space, uint32_t limit, uint64_t value) {
    (void)space;
    (void)limit;
    return value;
}

static int space_limit(struct dev_space *space, uint32_t limit, uint64_t value) {
    (void)space;
    (void)limit;
    limit_bytes += value;
    return 0;
}

static bool owns_nothing(const struct dev_space *space, uint64_t addr, uint64_t bytes) {
    (void)space;
    (void)addr;
    (void)bytes;
    return false;
}

static bool is_shown(const struct dev_space *space, uint64_t addr, uint64_t bytes) {
    (void)space;
    (void)addr;
    (void)bytes;
    return true;
}

static const struct dev_driver_ops driver = {
    .lost = lost, .space_owns = owns_nothing, .host_shown = is_shown};
static const struct dev_settings_ops settings = {.space_limit = space_limit,
                                                 .space_limit_bytes = space_limit_bytes};
static struct wirebench *b;
static struct dev_ops ops;

static void begin(void) {
    ops = fakedev;
    ops.driver = &driver;
    ops.mem_used = mem_used;
    ops.module_place = module_place;
    ops.module_remove = module_remove;
    ops.settings = &settings;
    const struct worker_config config = {
        .ops = &ops, .policy = {.exclusive = -1, .swap = -1, .max_lanes = 1}, .share_users = true};
    b = wirebench_start_as(&config);
}

static void end(void) {
    wirebench_stop(b);
}

TestSuite(memory_ask, .init = begin, .fini = end);

static struct wireclient *join(uint64_t p) {
    const struct wire_job job = {.flags = WIRE_JOB_RESERVED, .persistent_bytes = p};
    return wireclient_attach_as(b, &job, 0);
}

static void leave(struct wireclient *c) {
    wireclient_detach(c);
    wireclient_free(c);
}

static uint64_t ask(struct wireclient *c, uint64_t pages) {
    return wireclient_mem(c, WIRE_MEM_BACK, 0, pages * PAGE);
}

static uint64_t limit(struct wireclient *c, uint64_t pages) {
    struct wire_limit l = {.limit = CU_LIMIT_STACK_SIZE, .value = pages * PAGE};
    wireclient_send(c, WIRE_LIMIT, 0, true, &l, sizeof(l), NULL, 0);
    return c->ticket;
}

/* Granted pages according to the scheduler, which must equal the client's credit. */
static uint64_t granted(const struct wireclient *wc) {
    const struct client *c = client_find(b->worker, wc->job_id);
    struct sched_job_view view;
    cr_assert(sched_job(b->worker->scheduling.sched, wc->job_id, &view));
    cr_expect_eq(view.persistent_bytes, c->credit.reserved_p);
    return view.persistent_bytes / PAGE;
}

/* The answer at present, without a round of the loop. */
static int answer(const struct wireclient *c, uint64_t ticket) {
    const struct wire_reply *r = wireclient_reply(c, ticket);
    return r ? r->result : -EAGAIN;
}

/* Reads the rings and does nothing else. */
static void read_rings(void) {
    b->worker->now_ns++;
    chan_sweep(b->worker);
    cr_assert(sched_link_asked(b->worker));
}

/* ---- at once --------------------------------------------------------------------------------- */

Test(memory_ask, it_is_granted_in_the_round_in_which_it_is_read) {
    struct wireclient *c = join(2 * PAGE);
    uint64_t ticket = ask(c, 5), steps = b->worker->scheduling.steps;
    loop_once(b->worker);
    cr_expect_eq(answer(c, ticket), 0);
    cr_expect_eq(granted(c), 5);
    cr_expect_eq(b->worker->scheduling.steps, steps + 1);
    cr_expect_eq(fakedev.mem_used(b->worker->dev), 5 * PAGE);
    leave(c);
}

/* Each request is an event of its own step: the first one gets memory that the second then
 * lacks. */
Test(memory_ask, requests_of_a_round_are_answered_one_behind_the_other) {
    struct wireclient *a = join(DEVICE / 2 - 2 * PAGE), *c = join(DEVICE / 2 - 2 * PAGE);
    uint64_t first = limit(a, DEVICE / 2 / PAGE + 1), second = limit(c, DEVICE / 2 / PAGE + 2);
    loop_once(b->worker);
    cr_expect_eq(answer(a, first), 0);
    cr_expect_eq(answer(c, second), NO_MEMORY);
    cr_expect_eq(granted(a), DEVICE / 2 / PAGE + 1);
    cr_expect_eq(granted(c), DEVICE / 2 / PAGE - 2);
    leave(a);
    leave(c);
}

/* Each request alone would be within the limit. */
Test(memory_ask, requests_of_a_round_are_within_the_limit_of_their_user) {
    const struct wire_limits limits = {.device_bytes = 12 * PAGE};
    struct wireclient *a = join(2 * PAGE), *c = join(2 * PAGE);
    user_limits_set(b->worker, b->uid, &limits);
    uint64_t first = limit(a, 5), second = limit(c, 8);
    loop_once(b->worker);
    cr_expect_eq(answer(a, first), 0);
    cr_expect_eq(answer(c, second), NO_MEMORY);
    cr_expect_eq(granted(c), 2);
    leave(a);
    leave(c);
}

/* Meanwhile no other record of the client is read. */
Test(memory_ask, limits_are_set_in_their_order) {
    struct wireclient *c = join(0);
    uint64_t first = limit(c, 3), second = limit(c, 2), refused = limit(c, DEVICE / PAGE);
    read_rings();
    cr_expect_eq(limit_bytes, 0);
    wirebench_run(b);
    cr_expect_eq(answer(c, first), 0);
    cr_expect_eq(answer(c, second), 0);
    cr_expect_eq(answer(c, refused), NO_MEMORY);
    cr_expect_eq(limit_bytes, 5 * PAGE);
    cr_expect_eq(granted(c), 5);
    leave(c);
}

Test(memory_ask, what_is_refused_is_not_had) {
    struct wireclient *c = join(2 * PAGE), *hog = join(DEVICE - 4 * PAGE);
    uint64_t ticket = limit(c, 5);
    loop_once(b->worker);
    cr_expect_eq(answer(c, ticket), NO_MEMORY);
    cr_expect_eq(granted(c), 2);
    cr_expect_eq(limit_bytes, 0);
    ticket = limit(c, 4); /* asked again */
    loop_once(b->worker);
    cr_expect_eq(answer(c, ticket), 0);
    cr_expect_eq(granted(c), 4);
    leave(c);
    leave(hog);
}

/* Another client's request of the same round may have led to a move. */
Test(memory_ask, memory_is_not_granted_before_what_was_decided_is_moved) {
    struct wireclient *c = join(2 * PAGE);
    struct worker *w = b->worker;
    const struct client *its = client_find(w, c->job_id);
    uint64_t ticket = ask(c, 5), steps = w->scheduling.steps;
    read_rings();
    memory_move_add(w, MOVE_SHRINK, NULL, its->lane)->bytes =
        lane_table_bytes(&w->lanes, its->lane);
    cr_expect_eq(sched_link_grant(w), 1);
    cr_expect_eq(w->scheduling.steps, steps);
    cr_expect_eq(wireclient_result(c, ticket), 0);
    cr_expect_eq(granted(c), 5);
    leave(c);
}

/* ---- later ----------------------------------------------------------------------------------- */

/* The answer for a module is not taken for the answer to a memory request, nor the reverse. */
Test(memory_ask, each_request_of_a_client_has_its_own_answer) {
    struct wireclient *c = join(0), *hog = join(DEVICE - 4 * PAGE);
    uint64_t memory = ask(c, 8);
    cr_expect_eq(wireclient_result(c, memory), -EAGAIN);
    cr_expect_eq(wireclient_result(c, wireclient_load(c, 1, "FAKE one")), 0);
    cr_expect_eq(granted(c), 1);
    cr_expect_eq(wireclient_result(c, limit(c, 5)), NO_MEMORY);
    cr_expect_eq(answer(c, memory), -EAGAIN);
    leave(hog);
    cr_expect_eq(wireclient_result(c, memory), 0);
    cr_expect_eq(granted(c), 9);
    leave(c);
    cr_expect_eq(module_bytes, 0);
}

/* ---- between a request and its answer -------------------------------------------------------- */

Test(memory_ask, for_a_client_that_is_dead_nobody_is_asked) {
    struct wireclient *c = join(2 * PAGE);
    uint64_t memory = ask(c, 5), other = limit(c, 7);
    read_rings();
    fault_raise(client_find(b->worker, c->job_id), ERR_ILLEGAL_ADDRESS, "");
    uint64_t steps = b->worker->scheduling.steps;
    cr_expect_eq(sched_link_grant(b->worker), 2);
    cr_expect_eq(b->worker->scheduling.steps, steps);
    cr_expect_eq(granted(c), 2);
    cr_expect_eq(answer(c, memory), ERR_ILLEGAL_ADDRESS);
    cr_expect_eq(answer(c, other), ERR_ILLEGAL_ADDRESS);
    leave(c);
    cr_expect_eq(fakedev.mem_used(b->worker->dev), 0);
}

Test(memory_ask, a_client_that_leaves_while_it_waits_is_forgotten) {
    struct wireclient *c = join(0), *hog = join(DEVICE - 4 * PAGE);
    cr_expect_eq(wireclient_result(c, ask(c, 8)), -EAGAIN);
    leave(c);
    leave(hog);
    struct wireclient *next = join(DEVICE);
    cr_expect_eq(wireclient_result(next, ask(next, 16)), 0);
    leave(next);
}

/* The next worker reads the records again, so this one neither asks nor answers. */
Test(memory_ask, on_a_device_that_is_lost_it_stays_as_it_is) {
    struct wireclient *c = join(2 * PAGE);
    uint64_t memory = ask(c, 5), other = limit(c, 7), steps = b->worker->scheduling.steps;
    read_rings();
    lost_err = ERR_DEVICE_LOST;
    pump_run(b->worker);
    cr_expect_eq(b->worker->scheduling.steps, steps);
    cr_expect_eq(granted(c), 2);
    cr_expect_eq(answer(c, memory), -EAGAIN);
    cr_expect_eq(answer(c, other), -EAGAIN);
    lost_err = 0;
    wireclient_free(c);
}
