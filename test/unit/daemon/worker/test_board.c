/* SPDX-License-Identifier: Apache-2.0
 *
 * The view of the scheduler that users get, and their changes to it: the board, the counters,
 * SET_JOB and SET_POLICY.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/atomics.h"
#include "common/fdutil.h"
#include "daemon/sched/core/view.h"
#include "daemon/worker/front/scheduler_view.h"
#include "daemon/worker/link/board.h"
#include "test/lib/worker/fakedev.h"
#include "test/lib/worker/wireclient.h"

#define MIB (1ull << 20)

static const struct policy_config defaults = {.exclusive = -1, .swap = -1};

static struct wirebench *begin(const struct policy_config *policy) {
    return wirebench_start_as(&(struct worker_config){.ops = &fakedev, .policy = *policy});
}

static struct wireclient *join(struct wirebench *b, uint64_t p, uint64_t e) {
    struct wire_job job = {
        .flags = WIRE_JOB_RESERVED, .persistent_bytes = p, .ephemeral_bytes = e, .weight = 3};
    return wireclient_attach_as(b, &job, 0);
}

static void leave(struct wireclient *c) {
    wireclient_detach(c);
    wireclient_free(c);
}

static void answer(struct wirebench *b, struct wire_worker_msg *msg) {
    cr_assert_eq(fdutil_send(b->sock, msg, sizeof(*msg), NULL, 0), 0);
    cr_assert(wirebench_hear(b, msg, NULL));
    cr_assert_eq(msg->kind, WIRE_DID);
}

static void look(struct wirebench *b) {
    wirebench_run(b);
    b->worker->now_ns = fdutil_now_ns();
    scheduler_view_update(b->worker, true);
}

Test(board, the_broker_gets_it_read_only_with_the_first_message) {
    struct wirebench *b = begin(&defaults);
    struct worker *w = b->worker;
    struct wire_worker_msg msg;
    int fd = -1;
    cr_assert_eq(broker_link_ready(w->link.fd, &w->info, &w->description,
                                   &(struct broker_link_fds){w->board.fd, -1, false}, 0, ""),
                 0);
    cr_assert(wirebench_hear(b, &msg, &fd));
    cr_assert_geq(fd, 0);
    cr_expect_eq(fdutil_check_sealed(fd, sizeof(struct wire_board)), 0);
    cr_expect_eq(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
    const struct wire_board *board = mmap(NULL, sizeof(*board), PROT_READ, MAP_SHARED, fd, 0);
    cr_assert_neq(board, MAP_FAILED);
    struct wireclient *a = join(b, 10 * MIB, 4 * MIB), *c = join(b, 20 * MIB, 2 * MIB);
    look(b);
    cr_expect_eq(board->lanes[0].chunk_bytes, 0);
    cr_assert_eq(
        wireclient_result(a, wireclient_mem(a, WIRE_MEM_BACK, WIRECLIENT_EPHEMERAL, 2 * MIB)), 0);
    look(b);
    cr_expect_eq(atom_load_acquire(&board->seq) % 2, 0);
    cr_expect_eq(board->capacity_bytes, 256 * MIB);
    cr_expect_eq(board->lane_count, 2);
    cr_expect_eq(board->granted_bytes, 36 * MIB);
    cr_expect_eq(board->lanes[0].bytes, 4 * MIB);
    cr_expect_eq(board->lanes[0].chunk_bytes, 2 * MIB);
    cr_expect_eq(board->lanes[0].jobs, 1);
    cr_expect_eq(board->lanes[1].bytes, 2 * MIB);
    cr_expect_eq(board->whole, 0);
    cr_expect_str_eq(board->policy.lane, "fair");
    cr_expect_str_eq(board->policy.kernel, "streams");
    cr_expect_eq(atom_load_relaxed(&a->com->stats.lane), 1);
    cr_expect_eq(atom_load_relaxed(&a->com->stats.persistent_bytes), 10 * MIB);
    leave(a);
    leave(c);
    look(b);
    cr_expect_eq(board->lane_count, 0);
    cr_expect_eq(board->granted_bytes, 0);
    munmap((void *)board, sizeof(*board));
    fdutil_close(&fd);
    wirebench_stop(b);
}

Test(board, it_says_where_a_device_has_no_shares) {
    struct wirebench *b = begin(&defaults);
    look(b);
    cr_expect_eq(b->worker->board.page->whole, 0);
    b->worker->info.whole = true;
    b->worker->scheduling.steps++;
    look(b);
    cr_expect_eq(b->worker->board.page->whole, 1);
    wirebench_stop(b);
}

Test(board, who_waits_is_counted) {
    struct wirebench *b = begin(&defaults);
    struct wireclient *a = join(b, 200 * MIB, 0), *c = join(b, 100 * MIB, 0);
    look(b);
    cr_expect_eq(b->worker->board.page->waiting_jobs, 1);
    cr_expect_eq(atom_load_relaxed(&c->com->stats.position), 1);
    cr_expect_eq(atom_load_relaxed(&c->com->stats.why), SCHED_WHY_MEMORY);
    leave(a);
    look(b);
    cr_expect_eq(b->worker->board.page->waiting_jobs, 0);
    cr_expect_neq(atom_load_relaxed(&c->com->stats.lane), 0);
    leave(c);
    wirebench_stop(b);
}

Test(board, a_paused_job_stands_still_until_it_is_resumed) {
    struct wirebench *b = begin(&defaults);
    struct wireclient *c = join(b, 0, 0);
    wireclient_kernels(c, "kern");
    struct wire_worker_msg msg = {.kind = WIRE_SET_JOB, .job_id = c->job_id, .job = c->job};
    msg.job.flags |= WIRE_JOB_PAUSED;
    answer(b, &msg);
    cr_expect_eq(msg.result, 0);
    uint64_t seq = wireclient_launch(c, 0, 0, 1);
    look(b);
    cr_expect_eq(wireclient_done(c, 0), 0);
    cr_expect_eq(atom_load_relaxed(&c->com->stats.why), SCHED_WHY_PAUSED);
    msg = (struct wire_worker_msg){.kind = WIRE_SET_JOB, .job_id = c->job_id, .job = c->job};
    msg.job.priority = 7;
    answer(b, &msg);
    cr_expect_eq(msg.result, 0);
    wirebench_run(b);
    cr_expect_eq(wireclient_done(c, 0), seq);
    struct sched_job_view view;
    cr_assert(sched_job(b->worker->scheduling.sched, c->job_id, &view));
    cr_expect_eq(view.priority, 7);
    cr_expect_eq(view.weight, 3);
    msg = (struct wire_worker_msg){.kind = WIRE_SET_JOB, .job_id = 4711};
    answer(b, &msg);
    cr_expect_eq(msg.result, -ENOENT);
    leave(c);
    wirebench_stop(b);
}

Test(board, a_policy_is_changed_while_jobs_run) {
    struct wirebench *b = begin(&defaults);
    struct wireclient *c = join(b, 0, 0);
    wireclient_kernels(c, "kern");
    fakedev_hold(b->worker->dev, true);
    for (uint64_t i = 0; i < 50; i++)
        wireclient_launch(c, 0, 0, i);
    wirebench_run(b);
    struct wire_worker_msg msg = {
        .kind = WIRE_SET_POLICY,
        .policy = {.lane = "srtf", .exclusive = -1, .swap = 1, .lease_ns = 5000000}};
    answer(b, &msg);
    cr_expect_eq(msg.result, 0, "%s", msg.text);
    memset(&msg, 0x5a, sizeof(msg)); /* the worker must have copied the message */
    look(b);
    cr_expect_str_eq(b->worker->board.page->policy.lane, "srtf");
    cr_expect_eq(b->worker->board.page->policy.swap, 1);
    cr_expect_eq(b->worker->board.page->policy.lease_ns, 5000000);
    msg = (struct wire_worker_msg){.kind = WIRE_SET_POLICY, .policy = {.lane = "lottery"}};
    answer(b, &msg);
    cr_expect_eq(msg.result, -EINVAL);
    cr_expect_neq(strstr(msg.text, "lottery"), NULL, "%s", msg.text);
    msg = (struct wire_worker_msg){.kind = WIRE_SET_POLICY};
    memset(msg.policy.lane, 'x', sizeof(msg.policy.lane));
    answer(b, &msg);
    cr_expect_eq(msg.result, -EINVAL);
    look(b);
    cr_expect_str_eq(b->worker->board.page->policy.lane, "srtf", "nothing changed");
    fakedev_hold(b->worker->dev, false);
    wirebench_run(b);
    cr_expect_eq(wireclient_done(c, 0), 50);
    leave(c);
    wirebench_stop(b);
}

/* A reader during an update sees an odd sequence number, or a different one afterwards. */
Test(board, it_is_brought_up_to_date_only_when_something_happened) {
    struct wirebench *b = begin(&defaults);
    struct wireclient *c = join(b, 0, 0);
    look(b);
    uint64_t seq = atom_load_acquire(&b->worker->board.page->seq);
    look(b);
    look(b);
    cr_expect_eq(atom_load_acquire(&b->worker->board.page->seq), seq);
    wireclient_kernels(c, "kern");
    wireclient_launch(c, 0, 0, 1);
    look(b);
    cr_expect_gt(atom_load_acquire(&b->worker->board.page->seq), seq);
    leave(c);
    wirebench_stop(b);
}

static void iterate(struct wirebench *b, struct wireclient *c, uint64_t token) {
    wireclient_launch(c, 0, 0, token);
    wireclient_say(c, WIRE_ITERATION);
    wirebench_run(b);
}

/* The request's kernels are unknown, so the device's other work is paused until the request is
 * over. */
Test(board, what_is_to_stand_still_for_a_request_the_device_is_told) {
    struct policy_config policy = {.kernel = "slack",
                                   .exclusive = 0,
                                   .swap = -1,
                                   .priorities = -1,
                                   .by_class = -1,
                                   .by_size = -1,
                                   .add_sizes = -1,
                                   .foresee = -1,
                                   .slices = -1};
    struct wirebench *b = begin(&policy);
    struct dev *dev = b->worker->dev;
    struct wire_job job = {.flags = WIRE_JOB_RESERVED, .priority = 1};
    struct wireclient *serves = wireclient_attach_as(b, &job, 0), *trains = join(b, 0, 0);
    wireclient_kernels(serves, "kern");
    wireclient_kernels(trains, "kern");
    fakedev_hold(dev, true);
    wireclient_launch(trains, 0, 0, 1);
    wirebench_run(b);
    cr_expect_not(fakedev_head_stands(dev, 0));
    wireclient_launch(serves, 0, 0, 2);
    wirebench_run(b);
    cr_expect(fakedev_head_stands(dev, 0) != fakedev_head_stands(dev, 1), "the one of the two");
    fakedev_hold(dev, false);
    wirebench_run(b);
    leave(serves);
    leave(trains);
    wirebench_stop(b);
}

/* Each of two jobs has two of four multiprocessors once a request was measured; the share goes
 * to the device, the other values to readers of the page. */
Test(board, a_target_is_measured_and_shown_and_what_it_costs_reaches_the_device) {
    struct policy_config policy = {.control = "simple",
                                   .exclusive = -1,
                                   .swap = -1,
                                   .period_ns = 1,
                                   .period_requests = 1,
                                   .period_cycles = 1};
    struct wirebench *b = begin(&policy);
    struct wire_job job = {.flags = WIRE_JOB_RESERVED, .slo_ns = 1, .slo_of = SCHED_SLO_P50};
    struct wireclient *serves = wireclient_attach_as(b, &job, 0), *trains = join(b, 0, 0);
    const struct wire_slo *s = &serves->com->slo, *t = &trains->com->slo;
    wireclient_kernels(serves, "kern");
    wireclient_kernels(trains, "kern");
    for (uint64_t i = 1; i < 200 && atom_load_relaxed(&t->sms) == 0; i++) {
        iterate(b, serves, 2 * i);
        iterate(b, trains, 2 * i + 1);
        look(b);
    }
    cr_expect_eq(atom_load_relaxed(&s->slo_ns), 1);
    cr_expect_eq(atom_load_relaxed(&s->slo_of), SCHED_SLO_P50);
    cr_expect_gt(atom_load_relaxed(&s->measured_ns), 1);
    cr_expect_geq(atom_load_relaxed(&s->periods), 1);
    cr_expect_geq(atom_load_relaxed(&s->violations), 1);
    cr_expect_eq(atom_load_relaxed(&t->slo_ns), 0);
    cr_expect_eq(atom_load_relaxed(&t->sms), 2);
    fakedev_hold(b->worker->dev, true);
    wireclient_launch(trains, 0, 0, 1000);
    wirebench_run(b);
    cr_expect_eq(fakedev_head_share(b->worker->dev, 0), 2);
    fakedev_hold(b->worker->dev, false);
    wirebench_run(b);
    leave(serves);
    leave(trains);
    wirebench_stop(b);
}
