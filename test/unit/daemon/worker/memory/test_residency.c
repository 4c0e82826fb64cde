/* SPDX-License-Identifier: Apache-2.0
 *
 * Clients that share a lane: each finds the data that it left in its memory, although other clients
 * used the lane meanwhile. Runs on a device that moves real bytes.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/atomics.h"
#include "common/fdutil.h"
#include "daemon/worker/client.h"
#include "daemon/worker/loop.h"
#include "daemon/worker/memory/memory_check.h"
#include "test/lib/patience.h"
#include "test/lib/worker/fakedev.h"
#include "test/lib/worker/wireclient.h"

#define PAGE FAKEDEV_GRANULARITY
#define MIB (1ull << 20)
#define DEVICE (256 * MIB)
#define E0 WIRECLIENT_EPHEMERAL

struct world {
    struct wirebench *b;
    struct dev *dev;
    bool strangers; /* every job belongs to another user */
    bool parts;     /* moves one granule a round, and runs a few rounds at a time */
    /* nonzero: a job that a test waits for ranks first, so that another one has to leave for it */
    int32_t favours;
    struct wireclient *all[4];
    uint64_t kept_bytes, spilled_bytes, swaps; /* totals over clients that have ended */
};

static struct world begin_as(const struct policy_config *policy, bool strangers) {
    struct worker_config config = {.ops = &fakedev, .policy = *policy, .share_users = true};
    struct world w = {.b = wirebench_start_as(&config), .strangers = strangers};
    w.dev = w.b->worker->dev;
    return w;
}

static struct world begin(const struct policy_config *policy) {
    return begin_as(policy, false);
}

static const struct policy_config one_lane = {.exclusive = -1, .swap = -1, .max_lanes = 1};
/* The same policy, with short waits for memory. */
static const struct policy_config brief = {
    .exclusive = -1, .swap = -1, .max_lanes = 1, .grow_wait_ns = 1};

static void end(struct world *w) {
    const char *what;
    cr_expect_eq(fakedev_violations(w->dev, &what), 0, "%s", what);
    cr_expect_eq(w->b->worker->ops->mem_used(w->dev), 0);
    wirebench_stop(w->b);
}

static struct wireclient *join(struct world *w, uint64_t p, uint64_t e) {
    struct wire_job job = {.flags = WIRE_JOB_RESERVED, .persistent_bytes = p, .ephemeral_bytes = e};
    w->b->uid += w->strangers;
    struct wireclient *c = wireclient_attach_as(w->b, &job, 0);
    wireclient_kernels(c, "kern");
    return c;
}

static void leave(struct wireclient *c) {
    if (!c) return;
    cr_expect_eq(wireclient_fault(c), 0, "%s", c->com->fault.text);
    wireclient_detach(c);
    wireclient_free(c);
}

static uint64_t stat_of(const _Atomic uint64_t *counter) {
    return atom_load_relaxed(counter);
}

/* ---- bytes ----------------------------------------------------------------------------------- */

/* Writes a block of 4096 bytes, all equal to `byte`, from its own place in the host window. */
static void put(struct wireclient *c, uint64_t offset, unsigned char byte) {
    memset(c->host + byte * 4096, byte, 4096);
    wireclient_copy(c, 0, c->windows.dev_base + offset, c->windows.host_base + byte * 4096, 4096);
}

/* The other clients reach a boundary, where their memory can be taken. */
static void favour(struct world *w, const struct wireclient *c) {
    for (int i = 0; i < 4; i++)
        if (w->all[i] && w->all[i] != c) wireclient_say(w->all[i], WIRE_ITERATION);
    struct wire_worker_msg msg = {.kind = WIRE_SET_JOB, .job_id = c->job_id, .job = c->job};
    msg.job.priority = w->favours++;
    cr_assert_eq(fdutil_send(w->b->sock, &msg, sizeof(msg), NULL, 0), 0);
    cr_assert(wirebench_hear(w->b, &msg, NULL));
    cr_assert_eq(msg.result, 0);
}

/* Lets the worker run until it is idle, unless the client's stream is complete already. */
static void turn(struct world *w, const struct wireclient *c) {
    if (wireclient_done(c, 0) != c->seq[0]) wirebench_run(w->b);
}

/* Lets time pass until the client's stream is complete. */
static void finish(struct world *w, struct wireclient *c) {
    if (w->favours) favour(w, c);
    cr_assert(PATIENCE_UNTIL((turn(w, c), wireclient_done(c, 0) == c->seq[0])), "job %u hangs",
              c->job_id);
    cr_assert(PATIENCE_UNTIL(!w->b->worker->boundaries.early || (wirebench_run(w->b), false)),
              "a boundary waits for more than a moment");
    cr_assert_eq(wireclient_fault(c), 0, "%s", c->com->fault.text);
}

static int get(struct world *w, struct wireclient *c, uint64_t offset) {
    const unsigned char *at = (unsigned char *)c->host + 4 * MIB;
    wireclient_copy(c, 0, c->windows.host_base + 4 * MIB, c->windows.dev_base + offset, 4096);
    finish(w, c);
    for (int i = 1; i < 4096; i++)
        if (at[i] != at[0]) return -1;
    return at[0];
}

static void back(struct wireclient *c, uint64_t offset, uint64_t bytes) {
    cr_assert_eq(wireclient_result(c, wireclient_mem(c, WIRE_MEM_BACK, offset, bytes)), 0);
}

static void use(struct wireclient *c, uint64_t offset) {
    wireclient_mem_silent(c, WIRE_MEM_USE, offset, 4096);
}

static void drop(struct wireclient *c, uint64_t offset) {
    wireclient_mem_silent(c, WIRE_MEM_DROP, offset, 4096);
}

/* An iteration that fills the first block of its page, and keeps or frees it. */
static void iterate(struct wireclient *c, unsigned char byte, bool keep) {
    use(c, E0);
    put(c, E0, byte);
    wireclient_launch(c, 0, 0, byte);
    if (!keep) drop(c, E0);
    wireclient_say(c, WIRE_ITERATION);
}

/* ---- lanes and survivors --------------------------------------------------------------------- */

Test(residency, jobs_of_a_lane_see_the_same_memory_and_switching_moves_nothing) {
    struct world w = begin(&one_lane);
    struct wireclient *a = join(&w, 0, 2 * PAGE), *b = join(&w, 0, 2 * PAGE);
    back(a, E0, 2 * PAGE);
    back(b, E0, 2 * PAGE);
    cr_expect_eq(w.b->worker->ops->mem_used(w.dev), 2 * PAGE, "both have the same two");
    uint32_t maps = fakedev_maps(w.dev);
    for (int i = 0; i < 10; i++) {
        iterate(a, 0xa1, false);
        iterate(b, 0xb1, false);
        finish(&w, a);
        finish(&w, b);
    }
    cr_expect_eq(fakedev_maps(w.dev), maps);
    cr_expect_eq(fakedev_moves(w.dev), 0);
    cr_expect_geq(stat_of(&a->com->stats.switches), 5);
    cr_expect_eq(stat_of(&a->com->stats.survivors), 0);
    leave(a);
    leave(b);
    end(&w);
}

Test(residency, what_outlives_an_iteration_gets_memory_of_its_own) {
    struct world w = begin(&one_lane);
    struct wireclient *a = join(&w, 0, PAGE), *b = join(&w, 0, PAGE);
    back(a, E0, PAGE);
    back(b, E0, PAGE);
    iterate(a, 0xa1, true);
    finish(&w, a);
    cr_expect_eq(stat_of(&a->com->stats.survivors), 1);
    cr_expect_eq(stat_of(&a->com->stats.survived_bytes), PAGE);
    iterate(b, 0xb1, false);
    finish(&w, b);
    cr_expect_eq(get(&w, a, E0), 0xa1);
    for (int i = 0; i < 5; i++) { /* the page is the client's own now: nothing is copied again */
        wireclient_say(a, WIRE_ITERATION);
        wireclient_launch(a, 0, 0, 0);
        finish(&w, a);
    }
    cr_expect_eq(stat_of(&a->com->stats.survived_bytes), PAGE);
    cr_expect_eq(stat_of(&a->com->stats.switched_bytes), 0);
    leave(a);
    leave(b);
    end(&w);
}

/* Long copies happen in parts; the boundary is not passed before the last part. */
Test(residency, much_that_outlives_an_iteration_is_kept_in_parts) {
    const uint32_t pages = 3 * WORKER_GRANULES + 1;
    struct world w = begin(&one_lane);
    struct worker *worker = w.b->worker;
    struct wireclient *a = join(&w, 0, pages * PAGE);
    back(a, E0, pages * PAGE);
    wireclient_mem_silent(a, WIRE_MEM_USE, E0, pages * PAGE);
    for (uint32_t i = 0; i < pages; i++)
        put(a, E0 + i * PAGE, (unsigned char)(1 + i));
    wireclient_launch(a, 0, 0, 1);
    finish(&w, a);
    worker->moves.pace = (struct pace){0};
    wireclient_say(a, WIRE_ITERATION);
    uint64_t used = worker->ops->mem_used(w.dev);
    uint32_t rounds = 0;
    for (uint64_t kept; (kept = stat_of(&a->com->stats.survived_bytes)) < pages * PAGE; rounds++) {
        cr_expect_eq(stat_of(&a->com->stats.iterations), 0);
        worker->loop.tick_ns = 0;
        loop_once(worker);
        cr_expect_leq(stat_of(&a->com->stats.survived_bytes) - kept, WORKER_GRANULES * PAGE);
    }
    cr_expect_geq(rounds, 4);
    finish(&w, a);
    cr_expect_leq(worker->moves.pace.most, WORKER_GRANULES);
    cr_expect_eq(stat_of(&a->com->stats.survivors), 1);
    cr_expect_eq(worker->ops->mem_used(w.dev), used + pages * PAGE);
    for (uint32_t i = 0; i < pages; i++)
        cr_expect_eq(get(&w, a, E0 + i * PAGE), 1 + i);
    leave(a);
    end(&w);
}

/* The device is full, so a survivor cannot get private memory. */
Test(residency, a_survivor_without_room_waits_in_host_memory) {
    struct world w = begin(&one_lane);
    struct wireclient *hog = join(&w, DEVICE - 2 * PAGE, 0);
    struct wireclient *a = join(&w, 0, 2 * PAGE), *b = join(&w, 0, 2 * PAGE);
    back(a, E0, 2 * PAGE);
    back(b, E0, 2 * PAGE);
    iterate(a, 0xa1, true);
    finish(&w, a);
    uint32_t moves = fakedev_moves(w.dev);
    cr_expect_eq(stat_of(&a->com->stats.survivors), 1);
    cr_expect_eq(stat_of(&a->com->stats.survived_bytes), 0);
    cr_expect_eq(moves, 0, "nobody else wants the lane yet");
    iterate(b, 0xb1, false);
    finish(&w, b);
    cr_expect_eq(get(&w, a, E0), 0xa1);
    cr_expect_eq(stat_of(&a->com->stats.switched_bytes), 4 * PAGE, "there and back");
    leave(a);
    leave(b);
    leave(hog);
    end(&w);
}

/* The client's memory went to the host and cannot come back: no operation that would have used
 * it completes. */
Test(residency, who_cannot_have_its_memory_back_has_a_fault_and_nothing_more) {
    struct world w = begin(&one_lane);
    struct wireclient *hog = join(&w, DEVICE - 2 * PAGE, 0);
    struct wireclient *a = join(&w, 0, 2 * PAGE), *b = join(&w, 0, 2 * PAGE);
    back(a, E0, 2 * PAGE);
    back(b, E0, 2 * PAGE);
    iterate(a, 0xa1, true);
    finish(&w, a);
    iterate(b, 0xb1, false);
    finish(&w, b);
    uint64_t done = wireclient_done(a, 0);
    uint64_t event_ns = atom_load_relaxed(&a->com->event_ns[7]);
    fakedev_fail(w.dev, 1, true);
    put(a, E0, 0xa2);
    wireclient_event(a, 0, 7);
    cr_expect(PATIENCE_UNTIL((wirebench_run(w.b), wireclient_fault(a) != 0)));
    fakedev_fail(w.dev, 0, false);
    cr_expect_eq(wireclient_done(a, 0), done);
    cr_expect_eq(atom_load_relaxed(&a->com->event_ns[7]), event_ns);
    iterate(b, 0xb2, false);
    finish(&w, b);
    wireclient_detach(a);
    wireclient_free(a);
    leave(b);
    leave(hog);
    end(&w);
}

static void set_policy(struct world *w, const struct policy_config *policy) {
    struct wire_worker_msg msg = {.kind = WIRE_SET_POLICY, .policy = *policy};
    cr_assert_eq(fdutil_send(w->b->sock, &msg, sizeof(msg), NULL, 0), 0);
    cr_assert(wirebench_hear(w->b, &msg, NULL));
    cr_assert_eq(msg.result, 0, "%s", msg.text);
}

Test(residency, who_reaches_no_boundary_loses_its_turn_but_no_byte) {
    struct policy_config policy = one_lane;
    policy.lease_ns = 3600000000000;
    struct world w = begin(&policy);
    struct wireclient *a = join(&w, 0, PAGE), *b = join(&w, 0, PAGE);
    back(a, E0, PAGE);
    back(b, E0, PAGE);
    use(a, E0);
    put(a, E0, 0xa1); /* and without a boundary */
    finish(&w, a);
    use(b, E0);
    put(b, E0, 0xb1);
    wirebench_run(w.b);
    cr_expect_eq(wireclient_done(b, 0), 0, "a has the turn still");
    policy.lease_ns = 3000000;
    set_policy(&w, &policy);
    finish(&w, b);
    cr_expect_eq(get(&w, a, E0), 0xa1);
    cr_expect_eq(get(&w, b, E0), 0xb1);
    cr_expect_geq(stat_of(&a->com->stats.switched_bytes), 2 * PAGE);
    leave(a);
    leave(b);
    end(&w);
}

/* True if the worker has sent a heartbeat since the last call. */
static bool has_beaten(struct wirebench *b) {
    struct wire_worker_msg msg;
    bool beaten = false;
    while (recv(b->sock, &msg, sizeof(msg), MSG_DONTWAIT) > 0)
        beaten |= msg.kind == WIRE_BEAT;
    return beaten;
}

Test(residency, a_worker_that_sleeps_wakes_for_the_end_of_a_lease) {
    struct policy_config policy = one_lane;
    policy.lease_ns = 100000000;
    policy.idle_turn_ns = 200000000; /* an idle holder keeps its turn for this long */
    struct world w = begin(&policy);
    struct wireclient *a = join(&w, 0, PAGE), *b = join(&w, 0, PAGE);
    back(a, E0, PAGE); /* a job without memory in the lane gives up the turn at once */
    back(b, E0, PAGE);
    use(a, E0);
    use(b, E0);
    wirebench_thread(w.b);
    bool beaten = true;
    /* on a busy machine the heartbeat may have come before */
    for (int i = 0; i < 8 && beaten; i++) {
        cr_assert(PATIENCE_UNTIL(has_beaten(w.b)));
        wireclient_launch(a, 0, 0, 1);
        finish(&w, a);
        wireclient_launch(b, 0, 0, 1);
        finish(&w, b);
        beaten = has_beaten(w.b);
    }
    cr_expect(!beaten, "the heartbeat, each second, did it");
    leave(a);
    leave(b);
    end(&w);
}

/* ---- admission ------------------------------------------------------------------------------- */

Test(residency, nothing_is_read_of_a_job_before_it_is_admitted) {
    struct world w = begin(&one_lane);
    struct wireclient *a = join(&w, 200 * MIB, 0);
    struct wire_job job = {.flags = WIRE_JOB_RESERVED, .persistent_bytes = 100 * MIB};
    struct wireclient *b = wireclient_attach_as(w.b, &job, 0);
    uint64_t ticket = wireclient_ping(b);
    usleep(15000);
    wirebench_run(w.b);
    cr_expect_null(wireclient_reply(b, ticket));
    cr_expect_eq(stat_of(&b->com->stats.lane), 0);
    cr_expect_eq(stat_of(&b->com->stats.position), 1);
    cr_expect_eq(stat_of(&b->com->stats.why), SCHED_WHY_MEMORY);
    leave(a);
    cr_expect_eq(wireclient_result(b, ticket), 0);
    leave(b);
    end(&w);
}

Test(residency, a_waiting_job_can_leave) {
    struct world w = begin(&one_lane);
    struct wireclient *a = join(&w, 200 * MIB, 0);
    struct wire_job job = {.flags = WIRE_JOB_RESERVED, .persistent_bytes = 100 * MIB};
    struct wireclient *b = wireclient_attach_as(w.b, &job, 0);
    wireclient_ping(b);
    leave(b);
    leave(a);
    end(&w);
}

static void refused(struct world *w, const struct wire_job *job, const char *reason) {
    struct wire_worker_msg msg;
    struct wireclient *c = wireclient_attach_as(w->b, job, 0);
    uint64_t ticket = wireclient_ping(c);
    wireclient_event(c, 0, 1);
    if (job->admit_timeout_ns) usleep((useconds_t)(job->admit_timeout_ns / 1000));
    cr_assert(wirebench_hear(w->b, &msg, NULL));
    cr_expect_eq(msg.kind, WIRE_REFUSED);
    cr_expect_eq(msg.job_id, c->job_id);
    cr_expect_neq(strstr(msg.text, reason), NULL, "'%s' does not say '%s'", msg.text, reason);
    wirebench_run(w->b);
    cr_expect_eq(wireclient_fault(c), 2, "CUDA_ERROR_OUT_OF_MEMORY");
    cr_expect_str_eq(c->com->fault.text, msg.text);
    cr_expect_eq(wireclient_result(c, ticket), -5025, "nobody hangs");
    cr_expect_eq(wireclient_done(c, 0), 0, "it never ran");
    wireclient_detach(c);
    wireclient_free(c);
}

Test(residency, a_job_that_never_fits_is_told_so_with_the_numbers) {
    struct world w = begin(&one_lane);
    refused(&w, &(struct wire_job){.flags = WIRE_JOB_RESERVED, .persistent_bytes = 300 * MIB},
            "persistent 300 MiB + ephemeral 0 MiB, device 256 MiB");
    struct wireclient *a = join(&w, 200 * MIB, 0);
    refused(&w,
            &(struct wire_job){.flags = WIRE_JOB_RESERVED,
                               .persistent_bytes = 100 * MIB,
                               .admit_timeout_ns = 5000000},
            "timeout");
    leave(a);
    end(&w);
}

Test(residency, jobs_of_unknown_needs_are_measured_side_by_side) {
    struct world w = begin(&one_lane);
    struct wire_job unknown = {0};
    struct wireclient *a = wireclient_attach_as(w.b, &unknown, 0);
    struct wireclient *b = wireclient_attach_as(w.b, &unknown, 0);
    wireclient_kernels(a, "kern");
    back(a, 0, 5 * PAGE);
    back(b, 0, 2 * PAGE);
    back(a, E0, 8 * PAGE);
    cr_assert_eq(wireclient_result(a, wireclient_mem(a, WIRE_MEM_UNBACK, E0, 6 * PAGE)), 0);
    for (int i = 0; i < 3; i++) {
        iterate(a, 0xa1, false);
        if (i < 2) back(a, E0 + i * PAGE, PAGE);
        finish(&w, a);
    }
    usleep(12000); /* the board is updated only now and then */
    wireclient_ping(b);
    wirebench_run(w.b);
    const struct wire_stats *s = &a->com->stats;
    cr_expect_eq(stat_of(&s->measured), 1);
    cr_expect_eq(stat_of(&s->persistent_bytes), 5 * PAGE);
    cr_expect_eq(stat_of(&s->ephemeral_bytes), 4 * PAGE, "what the last two iterations had");
    cr_expect_eq(stat_of(&s->ephemeral_peak_bytes), 8 * PAGE, "and what it ever had");
    cr_expect_eq(stat_of(&a->com->persistent_credit), 5);
    cr_expect_eq(stat_of(&a->com->ephemeral_credit), 4);
    cr_expect_eq(stat_of(&b->com->stats.persistent_bytes), 2 * PAGE, "what it has, not all");
    leave(a);
    leave(b);
    end(&w);
}

/* The client has windows and has not answered the offer yet: it has no memory. */
Test(residency, a_job_that_is_held_takes_no_memory) {
    struct world w = begin(&one_lane);
    const struct wire_job whole = {.flags = WIRE_JOB_RESERVED, .persistent_bytes = DEVICE};
    w.b->holds = true;
    struct wireclient *held = wireclient_attach_as(w.b, &whole, 0);
    w.b->holds = false;
    struct wireclient *a = wireclient_attach_as(w.b, &whole, 0);
    wireclient_begin(a); /* the client is not held: no effect */
    back(a, 0, PAGE);
    usleep(12000);
    wirebench_run(w.b);
    cr_expect_eq(stat_of(&held->com->stats.why), SCHED_WHY_NONE, "no operator paused it");
    wireclient_begin(held);
    uint64_t ticket = wireclient_ping(held);
    cr_expect_eq(wireclient_result(held, ticket), -EAGAIN, "now it waits for memory");
    leave(a);
    cr_expect_eq(wireclient_result(held, ticket), 0);
    leave(held);
    end(&w);
}

/* ---- growing beyond what is free ------------------------------------------------------------- */

Test(residency, one_that_grows_gets_what_another_gives_back) {
    struct world w = begin(&one_lane);
    struct wireclient *a = join(&w, 0, 0), *b = join(&w, DEVICE - 4 * PAGE, 0);
    uint64_t ticket = wireclient_mem(a, WIRE_MEM_BACK, 0, 8 * PAGE);
    cr_expect_eq(wireclient_result(a, ticket), -EAGAIN);
    back(b, 0, PAGE); /* the client continues meanwhile */
    cr_expect_null(wireclient_reply(a, ticket));
    usleep(12000);
    wirebench_run(w.b);
    cr_expect_eq(stat_of(&a->com->stats.why), SCHED_WHY_GROWS);
    leave(b);
    cr_expect_eq(wireclient_result(a, ticket), 0);
    back(a, 8 * PAGE, 4 * PAGE);
    leave(a);
    end(&w);
}

/* The earlier client waits and then gets the memory it asked for; the missing memory goes to no
 * other client. */
Test(residency, of_two_that_grow_the_later_is_refused) {
    struct world w = begin(&one_lane);
    struct wireclient *a = join(&w, DEVICE / 2, 0), *b = join(&w, DEVICE / 2, 0);
    uint64_t later = wireclient_mem(b, WIRE_MEM_BACK, E0, PAGE);
    cr_expect_eq(wireclient_result(b, later), -EAGAIN);
    uint64_t first = wireclient_mem(a, WIRE_MEM_BACK, E0, 2 * PAGE);
    cr_expect_eq(wireclient_result(a, first), -EAGAIN);
    cr_expect_eq(wireclient_result(b, later), -5025);
    cr_expect_eq(wireclient_result(b, wireclient_mem(b, WIRE_MEM_BACK, E0, PAGE)), -5025);
    leave(b);
    cr_expect_eq(wireclient_result(a, first), 0);
    leave(a);
    end(&w);
}

Test(residency, one_that_ends_while_it_waits_to_grow_leaves_the_place) {
    struct world w = begin(&one_lane);
    struct wireclient *a = join(&w, DEVICE / 2, 0), *b = join(&w, DEVICE / 2, 0);
    uint64_t ticket = wireclient_mem(a, WIRE_MEM_BACK, E0, PAGE);
    cr_expect_eq(wireclient_result(a, ticket), -EAGAIN);
    leave(a);
    back(b, E0, PAGE);
    leave(b);
    end(&w);
}

/* ---- credit ---------------------------------------------------------------------------------- */

Test(residency, within_its_credit_a_client_does_not_ask) {
    struct world w = begin(&one_lane);
    struct wireclient *a = join(&w, 4 * PAGE, 2 * PAGE);
    cr_expect_eq(stat_of(&a->com->persistent_credit), 4);
    cr_expect_eq(stat_of(&a->com->ephemeral_credit), 2);
    uint64_t steps = w.b->worker->scheduling.steps;
    wireclient_mem_silent(a, WIRE_MEM_BACK, 0, 4 * PAGE);
    wireclient_mem_silent(a, WIRE_MEM_BACK, E0, 2 * PAGE);
    wirebench_run(w.b);
    cr_expect_eq(w.b->worker->scheduling.steps, steps);
    cr_expect_eq(stat_of(&a->com->persistent_credit), 4);
    back(a, 4 * PAGE, PAGE);
    cr_expect_eq(stat_of(&a->com->persistent_credit), 5);
    cr_expect_eq(wireclient_result(a, wireclient_mem(a, WIRE_MEM_UNBACK, 0, 5 * PAGE)), 0);
    cr_expect_eq(stat_of(&a->com->persistent_credit), 5, "what was granted stays so");
    leave(a);
    end(&w);
}

Test(residency, beyond_it_the_answer_comes_when_the_wait_is_over) {
    struct world w = begin(&brief);
    struct wireclient *hog = join(&w, DEVICE - 2 * PAGE, 0), *a = join(&w, 0, PAGE);
    cr_expect_eq(wireclient_result(a, wireclient_mem(a, WIRE_MEM_BACK, 0, 2 * PAGE)), -5025);
    back(a, 0, PAGE);
    back(a, E0, PAGE);
    cr_expect_eq(wireclient_result(a, wireclient_mem(a, WIRE_MEM_BACK, E0 + PAGE, PAGE)), -5025);
    cr_expect_eq(wireclient_fault(a), 0);
    wireclient_mem_silent(a, WIRE_MEM_BACK, 8 * PAGE, 3 * PAGE);
    wirebench_run(w.b);
    cr_expect_eq(wireclient_fault(a), 2);
    cr_expect_neq(strstr(a->com->fault.text, "the job asks for 6 MiB more; it uses 2 of 2 MiB"),
                  NULL, "%s", a->com->fault.text);
    cr_expect_eq(w.b->worker->ops->mem_used(w.dev), 0, "a dead client's memory is free at once");
    struct wireclient *next = join(&w, PAGE, PAGE);
    back(next, 0, PAGE);
    wireclient_detach(a);
    wireclient_free(a);
    leave(next);
    leave(hog);
    end(&w);
}

/* A device whose modules take memory: six granules each. */
static uint64_t module_bytes;
static uint64_t used_with_modules(struct dev *dev) {
    return fakedev.mem_used(dev) + module_bytes;
}

static int place_with_memory(struct dev_module *module, char *text, size_t text_bytes) {
    module_bytes += 6 * PAGE;
    return fakedev.module_place(module, text, text_bytes);
}

static void remove_with_memory(struct dev_module *module) {
    module_bytes -= 6 * PAGE;
    fakedev.module_remove(module);
}

Test(residency, modules_count_as_persistent_memory) {
    struct dev_ops ops = fakedev;
    ops.mem_used = used_with_modules;
    ops.module_place = place_with_memory;
    ops.module_remove = remove_with_memory;
    struct worker_config config = {.ops = &ops, .policy = one_lane};
    struct world w = {.b = wirebench_start_as(&config)};
    struct wire_job job = {.flags = WIRE_JOB_RESERVED, .persistent_bytes = 10 * PAGE};
    w.dev = w.b->worker->dev;
    struct wireclient *a = wireclient_attach_as(w.b, &job, 0);
    job.persistent_bytes = DEVICE - 14 * PAGE;
    struct wireclient *hog = wireclient_attach_as(w.b, &job, 0);
    cr_expect_eq(wireclient_result(a, wireclient_load(a, 1, "FAKE one")), 0);
    cr_expect_eq(stat_of(&a->com->persistent_credit), 4, "the module has the rest");
    cr_expect_eq(wireclient_result(a, wireclient_load(a, 2, "FAKE two")), 0, "12 of 14 granted");
    uint64_t ticket = wireclient_load(a, 3, "FAKE three");
    cr_expect_eq(wireclient_result(a, ticket), -5025);
    cr_expect_neq(strstr(a->host + (8 << 20), "the job asks for 12 MiB more"), NULL, "%s",
                  a->host + (8 << 20));
    struct wire_module_unload u = {.module = 1};
    wireclient_send(a, WIRE_MODULE_UNLOAD, 0, true, &u, sizeof(u), NULL, 0);
    cr_expect_eq(wireclient_result(a, wireclient_load(a, 3, "FAKE three")), 0);
    leave(a);
    leave(hog);
    cr_expect_eq(module_bytes, 0);
    end(&w);
}

/* ---- swapping -------------------------------------------------------------------------------- */

/* A shorter job is admitted although both do not fit: the longer one's memory is swapped out. */
Test(residency, persistent_memory_that_was_swapped_out_comes_back_as_it_was) {
    struct policy_config policy = {.lane = "srtf", .exclusive = -1, .swap = 1};
    struct world w = begin(&policy);
    struct wire_job job = {.flags = WIRE_JOB_RESERVED,
                           .persistent_bytes = 200 * MIB,
                           .iterations = 1000,
                           .duration_ns = 1000ull << 30};
    struct wireclient *a = wireclient_attach_as(w.b, &job, 0);
    wireclient_kernels(a, "kern");
    back(a, 0, 3 * PAGE);
    for (unsigned char i = 0; i < 3; i++)
        put(a, i * PAGE, (unsigned char)(0xa1 + i));
    wireclient_launch(a, 0, 0, 1);
    wireclient_say(a, WIRE_ITERATION);
    finish(&w, a);
    job.iterations = 2;
    job.duration_ns = 1000;
    struct wireclient *b = wireclient_attach_as(w.b, &job, 0);
    wireclient_kernels(b, "kern");
    cr_expect_eq(stat_of(&a->com->stats.swaps), 1);
    cr_expect_eq(stat_of(&a->com->stats.swapped_bytes), 3 * PAGE);
    back(b, 0, 3 * PAGE);
    put(b, 0, 0xb1);
    cr_expect_eq(get(&w, b, 0), 0xb1);
    uint64_t more = wireclient_mem(a, WIRE_MEM_BACK, 3 * PAGE, PAGE);
    uint64_t lane = wireclient_mem(a, WIRE_MEM_BACK, E0, PAGE);
    wireclient_launch(a, 0, 0, 2);
    cr_expect_eq(wireclient_result(a, more), -EAGAIN, "its memory is away");
    leave(b);
    cr_expect_eq(wireclient_result(a, more), 0);
    cr_expect_eq(wireclient_result(a, lane), 0);
    for (unsigned char i = 0; i < 3; i++)
        cr_expect_eq(get(&w, a, i * PAGE), 0xa1 + i);
    cr_expect_eq(get(&w, a, 3 * PAGE), 0);
    leave(a);
    end(&w);
}

/* Neither client marks iterations or gets any service meanwhile. Each is swapped out, in the
 * middle of an iteration, when the other has work. */
Test(residency, who_only_holds_memory_goes_for_who_waits_and_comes_back_when_it_sends_something) {
    struct policy_config policy = {.lane = "fair", .exclusive = -1, .swap = 1, .lease_ns = 1000000};
    struct world w = begin(&policy);
    struct wire_job job = {
        .flags = WIRE_JOB_RESERVED, .persistent_bytes = 150 * MIB, .ephemeral_bytes = 2 * PAGE};
    struct wireclient *c[2];
    for (int i = 0; i < 2; i++) {
        c[i] = wireclient_attach_as(w.b, &job, 0);
        uint64_t kept = wireclient_mem(c[i], WIRE_MEM_BACK, 0, PAGE);
        uint64_t lane = wireclient_mem(c[i], WIRE_MEM_BACK, E0, PAGE);
        cr_assert(PATIENCE_UNTIL(wireclient_result(c[i], kept) == 0), "job %d is not let in", i);
        cr_assert_eq(wireclient_result(c[i], lane), 0);
        wireclient_kernels(c[i], "kern");
        put(c[i], 0, (unsigned char)(0xa1 + i));
        put(c[i], E0, (unsigned char)(0xb1 + i));
        finish(&w, c[i]);
    }
    cr_expect_geq(stat_of(&c[0]->com->stats.swaps), 1);
    for (int i = 0; i < 4; i++) {
        cr_expect_eq(get(&w, c[i % 2], 0), 0xa1 + i % 2);
        cr_expect_eq(get(&w, c[i % 2], E0), 0xb1 + i % 2);
    }
    cr_expect_geq(stat_of(&c[1]->com->stats.swaps), 2);
    leave(c[0]);
    leave(c[1]);
    end(&w);
}

/* Modules loaded meanwhile get their memory when the rest is back. */
Test(residency, a_client_that_is_swapped_out_while_it_loads_is_answered_when_it_is_back) {
    struct policy_config policy = {.lane = "srtf", .exclusive = -1, .swap = 1};
    struct world w = begin(&policy);
    struct wire_job job = {.flags = WIRE_JOB_RESERVED,
                           .persistent_bytes = 200 * MIB,
                           .iterations = 1000,
                           .duration_ns = 1000ull << 30};
    struct wireclient *a = wireclient_attach_as(w.b, &job, 0);
    wireclient_kernels(a, "kern");
    back(a, 0, PAGE);
    wireclient_launch(a, 0, 0, 1);
    wireclient_say(a, WIRE_ITERATION);
    finish(&w, a);
    w.b->background_waits = true;
    fakedev_hold_reads(w.dev, true);
    uint64_t ticket = wireclient_load(a, 1, "FAKE one");
    wirebench_run(w.b);
    cr_assert(fakedev_await_reads(w.dev, 1));
    job.iterations = 2;
    job.duration_ns = 1000;
    struct wireclient *b = wireclient_attach_as(w.b, &job, 0);
    cr_expect_eq(stat_of(&a->com->stats.swaps), 1);
    fakedev_hold_reads(w.dev, false);
    w.b->background_waits = false;
    cr_expect_eq(wireclient_result(a, ticket), -EAGAIN, "its memory is away");
    cr_expect_eq(w.b->worker->loads.background_tasks.away, 0);
    leave(b);
    cr_expect_eq(wireclient_result(a, ticket), 0);
    leave(a);
    end(&w);
}

/* ---- random lives ---------------------------------------------------------------------------- */

/* Blocks of the ephemeral window, followed by some of the persistent one. */
enum { JOBS = 3, PAGES = 6, BLOCKS = 2 * PAGES, KEPT = 4, PLACES = BLOCKS + KEPT };

struct life {
    struct wireclient *c;
    int number; /* number that identifies its bytes: JOBS * n + number + 1 */
    bool backed[PAGES], used[PLACES];
    unsigned char byte[PLACES]; /* 0: not written since the block was allocated */
};

static uint32_t rnd(uint32_t below) {
    static uint64_t seed = 5;
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)((seed >> 33) % below);
}

static uint64_t place(uint32_t block) { /* two blocks a page */
    if (block >= BLOCKS) return (block - BLOCKS) * PAGE;
    return E0 + block / 2 * PAGE + block % 2 * MIB;
}

static void life_page(struct life *l, uint32_t page) {
    if (l->backed[page] && (l->used[2 * page] || l->used[2 * page + 1])) return;
    wireclient_mem(l->c, l->backed[page] ? WIRE_MEM_UNBACK : WIRE_MEM_BACK, E0 + page * PAGE, PAGE);
    l->backed[page] = !l->backed[page];
}

static void life_block(struct life *l, uint32_t block) {
    if (!l->backed[block / 2]) return;
    if (l->used[block])
        drop(l->c, place(block));
    else
        use(l->c, place(block));
    l->used[block] = !l->used[block];
    l->byte[block] = 0;
}

/* The bytes go through this block's own place in the host window, so the stream must first have
 * completed. */
static void life_write(struct world *w, struct life *l, uint32_t block) {
    if (!l->used[block]) return;
    unsigned char byte = (unsigned char)(1 + rnd(255 / JOBS) * JOBS + (uint32_t)l->number);
    char *host = l->c->host + block * 4096;
    finish(w, l->c);
    memset(host, byte, 4096);
    wireclient_copy(l->c, 0, l->c->windows.dev_base + place(block),
                    l->c->windows.host_base + block * 4096, 4096);
    l->byte[block] = byte;
}

static void life_check(struct world *w, struct life *l, uint32_t block) {
    if (!l->used[block] || (!l->byte[block] && !w->strangers)) return;
    int got = get(w, l->c, place(block));
    bool right = got == l->byte[block];
    if (!l->byte[block]) right = got == 0 || (got > 0 && (got - 1) % JOBS == l->number);
    cr_assert(right, "job %u block %u: %d instead of %d", l->c->job_id, block, got, l->byte[block]);
}

static void check_all(const struct world *w) {
    const struct list *pos;
    list_each(pos, &w->b->worker->clients.list) {
        const struct client *c = list_entry(pos, struct client, link);
        const struct memory *m = c->memory ? c->memory : c->ending;
        const char *what = m ? memory_check(m) : NULL;
        cr_assert_null(what, "job %u: %s", c->job_id, what);
    }
}

static void life_rounds(struct world *w) {
    for (uint32_t i = rnd(4); i > 0; i--) {
        w->b->worker->loop.tick_ns = 0;
        loop_once(w->b->worker);
        check_all(w);
    }
}

static void life_step(struct world *w, struct life *l) {
    uint32_t pick = rnd(100);
    if (pick < 15)
        life_page(l, rnd(PAGES));
    else if (pick < 40)
        life_block(l, rnd(BLOCKS));
    else if (pick < 60)
        life_write(w, l, rnd(PLACES));
    else if (pick < 70)
        life_check(w, l, rnd(PLACES));
    else if (pick < 85)
        wireclient_launch(l->c, 0, 0, 1);
    else
        wireclient_say(l->c, WIRE_ITERATION);
    if (w->parts)
        life_rounds(w);
    else if (rnd(3) == 0)
        wirebench_run(w->b);
}

static void lives_run(struct world *w, struct life *lives, int steps) {
    for (int i = 0; i < steps; i++)
        life_step(w, &lives[rnd(JOBS)]);
    for (int i = 0; i < JOBS; i++)
        for (uint32_t k = 0; k < PLACES; k++)
            life_check(w, &lives[i], k);
    memset(w->all, 0, sizeof(w->all));
    for (int i = 0; i < JOBS; i++) {
        const struct wire_stats *s = &lives[i].c->com->stats;
        w->kept_bytes += stat_of(&s->survived_bytes);
        w->spilled_bytes += stat_of(&s->switched_bytes);
        w->swaps += stat_of(&s->swaps);
        leave(lives[i].c);
    }
}

static bool parts;

/* `room`: memory besides the lane and P, for survivors. With little of it, survivors are
 * spilled. */
static void random_lives(const struct policy_config *policy, bool strangers, uint64_t room,
                         int steps) {
    struct world w = begin_as(policy, strangers);
    uint64_t lane = PAGES * PAGE, p = KEPT * PAGE;
    struct wireclient *hog = join(&w, DEVICE - lane - JOBS * p - room, 0);
    struct life lives[JOBS] = {0};
    w.parts = parts;
    if (parts) w.b->worker->moves.most = 1;
    for (int i = 0; i < JOBS; i++) {
        lives[i].c = join(&w, p, lane);
        lives[i].number = i;
        back(lives[i].c, 0, p);
        memset(lives[i].used + BLOCKS, true, KEPT);
    }
    lives_run(&w, lives, steps);
    if (room > PAGE)
        cr_expect_gt(w.kept_bytes, 20 * PAGE, "%lu pages",
                     (unsigned long)(w.kept_bytes / PAGE)); /* otherwise the test proves little */
    cr_expect_gt(w.spilled_bytes, 20 * PAGE, "%lu pages", (unsigned long)(w.spilled_bytes / PAGE));
    leave(hog);
    end(&w);
}

Test(residency, random_lives_in_one_lane_keep_every_byte, .timeout = 600) {
    struct policy_config policy = one_lane;
    policy.lease_ns = 1000000;
    policy.lease_factor = 1;
    random_lives(&policy, false, 100 * MIB, 4000);
}

/* No client finds data of another user. */
Test(residency, random_lives_of_strangers_in_one_lane, .timeout = 600) {
    struct policy_config policy = one_lane;
    policy.lease_ns = 1000000;
    policy.lease_factor = 1;
    random_lives(&policy, true, 100 * MIB, 4000);
    random_lives(&policy, true, PAGE, 1500);
}

Test(residency, and_so_when_there_is_no_room_for_survivors, .timeout = 600) {
    struct policy_config policy = one_lane;
    policy.lease_ns = 1000000;
    policy.lease_factor = 1;
    random_lives(&policy, false, PAGE, 4000);
}

/* The same when memory is moved in parts, while everything else continues. */
Test(residency, random_lives_whose_memory_is_moved_in_parts, .timeout = 600) {
    struct policy_config policy = one_lane;
    policy.lease_ns = 1000000;
    policy.lease_factor = 1;
    parts = true;
    random_lives(&policy, false, PAGE, 3000);
    random_lives(&policy, true, PAGE, 1500);
}

static void life_join(struct world *w, struct life *l, int number) {
    struct wire_job job = {
        .flags = WIRE_JOB_RESERVED, .persistent_bytes = 100 * MIB, .ephemeral_bytes = PAGES * PAGE};
    w->b->uid++;
    *l = (struct life){.number = number, .c = wireclient_attach_as(w->b, &job, 0)};
    w->all[number] = l->c;
    favour(w, l->c);
    wireclient_kernels(l->c, "kern");
    back(l->c, 0, KEPT * PAGE);
    memset(l->used + BLOCKS, true, KEPT);
}

/* The client ends wherever its memory is at present, and even if another client waits for that. */
static void life_end(struct world *w, struct life *l) {
    w->all[l->number] = NULL;
    w->swaps += stat_of(&l->c->com->stats.swaps);
    leave(l->c);
}

static void swapped_lives(bool in_parts) {
    struct policy_config policy = {
        .lane = "srtf", .exclusive = -1, .swap = 1, .max_lanes = 1, .lease_ns = 1000000};
    struct world w = begin_as(&policy, true);
    struct life lives[JOBS] = {0};
    w.favours = 1;
    w.parts = in_parts;
    if (in_parts) w.b->worker->moves.most = 1;
    for (int i = 0; i < JOBS; i++)
        life_join(&w, &lives[i], i);
    for (int i = 0; in_parts && i < 15; i++) {
        int ends = (int)rnd(JOBS);
        for (uint32_t steps = rnd(50); steps > 0; steps--)
            life_step(&w, &lives[rnd(JOBS)]);
        life_end(&w, &lives[ends]);
        life_join(&w, &lives[ends], ends);
    }
    lives_run(&w, lives, in_parts ? 300 : 800);
    cr_expect_gt(w.swaps, 10, "%lu", (unsigned long)w.swaps);
    if (in_parts) cr_expect_gt(w.b->worker->moves.parts, KEPT, "nothing was moved in parts");
    end(&w);
}

/* Two of three jobs fit: a job that waits makes another one leave for host memory. */
Test(residency, random_lives_that_are_swapped_keep_every_byte, .timeout = 600) {
    swapped_lives(false);
}

Test(residency, random_lives_that_are_swapped_in_parts_and_end_between_them, .timeout = 600) {
    swapped_lives(true);
}

Test(residency, a_measured_job_may_grow_while_another_is_measured) {
    struct world w = begin(&one_lane);
    struct wire_job unknown = {0};
    struct wireclient *a = wireclient_attach_as(w.b, &unknown, 0);
    struct wireclient *b = wireclient_attach_as(w.b, &unknown, 0);
    wireclient_kernels(a, "kern");
    back(a, 0, PAGE);
    back(a, E0, PAGE);
    for (int i = 0; i < 3; i++) {
        iterate(a, 0xa1, false);
        finish(&w, a);
    }
    back(b, 0, 5 * PAGE);
    back(b, E0, 3 * PAGE);
    back(a, PAGE, 4 * PAGE);
    back(a, E0 + PAGE, 4 * PAGE);
    cr_expect_eq(wireclient_result(a, wireclient_mem(a, WIRE_MEM_BACK, 8 * PAGE, 20 * PAGE)), 0);
    back(b, 5 * PAGE, 5 * PAGE);
    leave(a);
    leave(b);
    end(&w);
}
