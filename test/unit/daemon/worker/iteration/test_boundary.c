/* SPDX-License-Identifier: Apache-2.0
 *
 * Iterations of a client in the worker: the operations before and after a boundary, how far the
 * ring is read, and that no client ever waits for records that are not read.
 */
#include <criterion/criterion.h>
#include <string.h>
#include <unistd.h>

#include "common/atomics.h"
#include "daemon/worker/client.h"
#include "daemon/worker/loop.h"
#include "test/lib/patience.h"
#include "test/lib/worker/fakedev.h"
#include "test/lib/worker/wireclient.h"

#define PAGE FAKEDEV_GRANULARITY
/* longest time that a host function delays reading: iteration_boundary.c */
#define HOST_NS 20000000ull

struct world {
    struct wirebench *b;
    struct wireclient *c;
    struct dev *dev;
};

static struct world begin(void) {
    struct world w = {.b = wirebench_start(&fakedev, 0)};
    w.c = wireclient_attach(w.b);
    w.dev = w.b->worker->dev;
    wireclient_kernels(w.c, "kern fault");
    fakedev_hold(w.dev, true);
    return w;
}

static void end(struct world *w) {
    const char *what;
    fakedev_hold(w->dev, false);
    wireclient_detach(w->c);
    cr_expect_eq(fakedev_violations(w->dev, &what), 0, "%s", what);
    cr_expect_eq(w->b->worker->boundaries.held, 0);
    wireclient_free(w->c);
    wirebench_stop(w->b);
}

static const char *launched(struct world *w) {
    return wirebench_launched(w->b);
}

static const char *after_finishing(struct world *w) {
    fakedev_finish_all(w->dev);
    return launched(w);
}

static uint64_t boundaries(const struct world *w) {
    return atom_load_acquire(&w->c->com->boundaries);
}

static void mark(struct world *w) {
    wireclient_say(w->c, WIRE_ITERATION);
}

Test(boundary, the_next_iteration_is_read_but_waits_and_the_one_after_is_not_read) {
    struct world w = begin();
    wireclient_launch(w.c, 0, 0, 1);
    for (uint64_t i = 2; i <= 5; i++) {
        mark(&w);
        wireclient_launch(w.c, 0, 0, i);
    }
    cr_expect_str_eq(launched(&w), "1");
    cr_expect_eq(atom_load_relaxed(&w.c->com->stats.queued), 2);
    cr_expect_eq(boundaries(&w), 1);
    cr_expect_str_eq(after_finishing(&w), "2");
    cr_expect_eq(boundaries(&w), 2);
    cr_expect_str_eq(after_finishing(&w), "3");
    cr_expect_str_eq(after_finishing(&w), "4");
    cr_expect_str_eq(after_finishing(&w), "5");
    cr_expect_eq(boundaries(&w), 4);
    end(&w);
}

/* A mark comes microseconds before the launch that it announces: for a moment, the boundary
 * waits for that launch. A machine that takes longer for one round than the moment gets another
 * try. */
Test(boundary, a_mark_waits_a_moment_for_what_comes_after_it) {
    struct world w = begin();
    uint32_t *early = &w.b->worker->boundaries.early;
    uint64_t i = 0;
    for (; i < 1000 && !*early; i++) {
        wireclient_launch(w.c, 0, 0, i);
        launched(&w);
        mark(&w);
        fakedev_finish_all(w.dev);
        loop_once(w.b->worker);
    }
    cr_expect_eq(*early, 1, "it was passed at once, a thousand times");
    wireclient_launch(w.c, 0, 0, i);
    launched(&w);
    cr_expect_eq(*early, 0, "what came after it did not pass it");
    fakedev_finish_all(w.dev);
    end(&w);
}

Test(boundary, marks_of_a_client_that_only_copies_count) {
    struct world w = begin();
    fakedev_hold(w.dev, false);
    for (int i = 0; i < 4; i++) {
        mark(&w);
        wireclient_copy(w.c, 0, w.c->windows.host_base, w.c->windows.host_base + 4096, 8);
        wirebench_run(w.b);
    }
    cr_expect_eq(boundaries(&w), 3, "the first mark comes before the first operation");
    end(&w);
}

/* Iterations of 20 launches that differ in their grids. */
static void iterate(struct world *w, int times) {
    struct wire_launch l = {.grid = {1, 1, 1}, .block = {32, 1, 1}, .param_bytes = 8};
    for (int i = 0; i < times; i++)
        for (uint32_t k = 0; k < 20; k++) {
            l.grid[0] = 1 + k;
            wireclient_send(w->c, WIRE_LAUNCH, 0, false, &l, sizeof(l), "12345678", 8);
        }
    wirebench_run(w->b);
}

Test(boundary, a_period_of_launches_is_one_too) {
    struct world w = begin();
    fakedev_hold(w.dev, false);
    iterate(&w, 400);
    cr_expect_gt(boundaries(&w), 300);
    cr_expect_eq(fakedev_launches(w.dev), 8000);
    cr_expect_eq(wireclient_done(w.c, 0), 8000);
    fakedev_hold(w.dev, true);
    iterate(&w, 5);
    cr_expect_leq(atom_load_relaxed(&w.c->com->stats.queued), 40, "two iterations, no more");
    fakedev_hold(w.dev, false);
    wirebench_run(w.b);
    cr_expect_eq(wireclient_done(w.c, 0), 8100);
    end(&w);
}

Test(boundary, an_iteration_ends_when_all_its_streams_have) {
    struct world w = begin();
    wireclient_create_stream(w.c, 1, WIRE_STREAM_NONBLOCKING);
    wireclient_create_stream(w.c, 2, WIRE_STREAM_NONBLOCKING);
    wireclient_launch(w.c, 1, 0, 1);
    wireclient_launch(w.c, 2, 0, 2);
    mark(&w);
    wireclient_launch(w.c, 1, 0, 3);
    cr_expect_str_eq(launched(&w), "1 2");
    fakedev_finish(w.dev, 0);
    cr_expect_str_eq(launched(&w), "", "2 still runs");
    fakedev_finish(w.dev, 0);
    cr_expect_str_eq(launched(&w), "3");
    end(&w);
}

Test(boundary, marks_without_anything_between_them_are_one) {
    struct world w = begin();
    fakedev_hold(w.dev, false);
    for (int i = 0; i < 5000; i++)
        mark(&w);
    wireclient_launch(w.c, 0, 0, 1);
    for (int i = 0; i < 5000; i++)
        mark(&w);
    wireclient_launch(w.c, 0, 0, 2);
    cr_expect_str_eq(launched(&w), "1 2");
    cr_expect_eq(boundaries(&w), 1);
    cr_expect_eq(wireclient_result(w.c, wireclient_ping(w.c)), 0);
    end(&w);
}

Test(boundary, calls_behind_what_is_not_read_are_answered_in_time) {
    struct world w = begin();
    for (uint64_t i = 1; i <= 3; i++) {
        wireclient_launch(w.c, 0, 0, i);
        mark(&w);
    }
    uint64_t ticket = wireclient_ping(w.c), back = wireclient_mem(w.c, WIRE_MEM_BACK, 0, PAGE);
    wirebench_run(w.b);
    cr_expect_null(wireclient_reply(w.c, ticket), "the second mark waits for launch 1");
    cr_expect_eq(wireclient_done(w.c, 0), 0);
    fakedev_finish_all(w.dev);
    wirebench_run(w.b);
    cr_expect_eq(wireclient_done(w.c, 0), 1, "what runs is told although the ring stands");
    fakedev_finish_all(w.dev);
    cr_expect_eq(wireclient_result(w.c, back), 0);
    cr_expect_eq(wireclient_result(w.c, ticket), 0);
    end(&w);
}

Test(boundary, host_functions_of_the_iteration_that_runs_go_on) {
    struct world w = begin();
    wireclient_host_func(w.c, 0, 7);
    wireclient_launch(w.c, 0, 0, 1);
    for (uint64_t i = 2; i <= 3; i++) {
        mark(&w);
        wireclient_launch(w.c, 0, 0, i);
    }
    cr_expect_str_eq(launched(&w), "");
    cr_expect_eq(atom_load_acquire(&w.c->com->callbacks_posted), 1);
    atom_store_release(&w.c->sub->callbacks_done, 1);
    cr_expect_str_eq(launched(&w), "1");
    cr_expect_str_eq(after_finishing(&w), "2");
    cr_expect_str_eq(after_finishing(&w), "3");
    end(&w);
}

/* The host function waits for an operation that another thread of the program is about to
 * submit. */
Test(boundary, a_host_function_that_does_not_end_holds_reading_up_for_a_while_only) {
    struct world w = begin();
    wireclient_create_stream(w.c, 1, WIRE_STREAM_NONBLOCKING);
    wireclient_host_func(w.c, 1, 7);
    for (uint64_t i = 1; i <= 3; i++) {
        mark(&w);
        wireclient_launch(w.c, 1, 0, i);
    }
    uint64_t ticket = wireclient_ping(w.c);
    uint64_t begun = fdutil_now_ns();
    wirebench_run(w.b);
    bool read = wireclient_reply(w.c, ticket);
    cr_expect(!read || fdutil_now_ns() - begun >= HOST_NS);
    cr_expect(PATIENCE_UNTIL((wirebench_run(w.b), wireclient_reply(w.c, ticket) != NULL)));
    atom_store_release(&w.c->sub->callbacks_done, 1);
    wirebench_run(w.b);
    fakedev_hold(w.dev, false);
    cr_expect_str_eq(launched(&w), "1 2 3");
    end(&w);
}

Test(boundary, a_client_that_dies_or_leaves_leaves_nothing_held) {
    struct world w = begin();
    struct wireclient *other = wireclient_attach(w.b);
    fakedev_hold(w.dev, false);
    wireclient_kernels(other, "kern");
    fakedev_hold(w.dev, true);
    struct wireclient *both[] = {w.c, other};
    for (int k = 0; k < 2; k++) {
        wireclient_launch(both[k], 0, k ? 0 : 1, 1);
        for (uint64_t i = 2; i <= 4; i++) {
            wireclient_say(both[k], WIRE_ITERATION);
            wireclient_launch(both[k], 0, 0, i);
        }
    }
    wirebench_run(w.b);
    cr_expect_eq(w.b->worker->boundaries.held, 2);
    wireclient_detach(other);
    cr_expect_eq(w.b->worker->boundaries.held, 1);
    fakedev_finish_all(w.dev); /* the first launch faults */
    wirebench_run(w.b);
    cr_expect_eq(wireclient_fault(w.c), 700);
    cr_expect_eq(wireclient_done(w.c, 0), 0);
    cr_expect_eq(wireclient_result(w.c, wireclient_ping(w.c)), -5010);
    cr_expect_eq(w.b->worker->boundaries.held, 0);
    wireclient_free(other);
    end(&w);
}

Test(boundary, the_client_learns_where_its_allocations_were) {
    struct world w = begin();
    fakedev_hold(w.dev, false);
    uint64_t at = WIRECLIENT_EPHEMERAL;
    wireclient_mem_silent(w.c, WIRE_MEM_USE, at, 512);
    wireclient_mem_silent(w.c, WIRE_MEM_USE, at + 512, 512);
    wireclient_launch(w.c, 0, 0, 1);
    wireclient_mem_silent(w.c, WIRE_MEM_USE, at + 1024, 512);
    mark(&w);
    wireclient_mem_silent(w.c, WIRE_MEM_USE, at + 1536, 512);
    wirebench_run(w.b);
    cr_expect_eq(boundaries(&w), 1);
    cr_expect_eq(atom_load_relaxed(&w.c->com->boundary_uses), 3);
    cr_expect_eq(atom_load_relaxed(&w.c->com->boundary_filled), 2, "the third holds nothing yet");
    end(&w);
}

/* ---- hostile --------------------------------------------------------------------------------- */

static void expelled(uint16_t op, uint64_t offset, uint64_t bytes, const char *reason) {
    struct world w = begin();
    struct wire_worker_msg msg;
    wireclient_mem_silent(w.c, WIRE_MEM_USE, WIRECLIENT_EPHEMERAL, 512);
    wireclient_mem_silent(w.c, op, offset, bytes);
    cr_assert(wirebench_hear(w.b, &msg, NULL), "not expelled for: %s", reason);
    cr_expect_eq(msg.kind, WIRE_EXPELLED);
    cr_expect_neq(strstr(msg.text, reason), NULL, "'%s' does not say '%s'", msg.text, reason);
    end(&w);
}

Test(boundary, lifetimes_that_cannot_be_end_the_client) {
    expelled(WIRE_MEM_USE, 0, 512, "not in the ephemeral window");
    expelled(WIRE_MEM_USE, WIRECLIENT_ALLOC_BYTES - 256, 512, "not in the ephemeral window");
    expelled(WIRE_MEM_USE, WIRECLIENT_EPHEMERAL, 512, "allocated twice");
    expelled(WIRE_MEM_DROP, WIRECLIENT_EPHEMERAL + 512, 512, "not alive");
    expelled(WIRE_MEM_DROP, WIRECLIENT_EPHEMERAL, 1024, "the client frees");
    expelled(WIRE_MEM_BACK, WIRECLIENT_EPHEMERAL - PAGE, 2 * PAGE, "both windows");
}

/* Reads are bounded: each iteration of a flood is one operation, and delays no other client. */
Test(boundary, a_flood_of_iterations_with_many_blocks_is_endured, .timeout = 60) {
    struct world w = begin();
    struct wireclient *good = wireclient_attach(w.b);
    fakedev_hold(w.dev, false);
    wireclient_kernels(good, "kern");
    for (uint64_t i = 0; i < 100000; i++)
        wireclient_mem_silent(w.c, WIRE_MEM_USE, WIRECLIENT_EPHEMERAL + i * 512, 512);
    for (uint64_t i = 0; i < 2000; i++) {
        wireclient_launch(w.c, 0, 0, i);
        mark(&w);
    }
    uint64_t seq = wireclient_launch(good, 0, 0, 1);
    wirebench_run(w.b);
    cr_expect_eq(wireclient_done(good, 0), seq);
    cr_expect_eq(wireclient_done(w.c, 0), 2000);
    wireclient_detach(good);
    wireclient_free(good);
    end(&w);
}

/* ---- requests between idle gaps -------------------------------------------------------------- */

#define REQUESTS 1000 /* until a boundary is found: a busy machine spoils some gaps */

static void copy_in(struct world *w) {
    wireclient_copy(w->c, 0, w->c->windows.dev_base, w->c->windows.host_base, 64);
}

static void copy_out(struct world *w) {
    wireclient_copy(w->c, 0, w->c->windows.host_base, w->c->windows.dev_base, 64);
}

/* Random kernels, so that only gaps show where a request begins. */
static void request(struct world *w, uint32_t *random) {
    struct wire_launch l = {.grid = {1, 1, 1}, .block = {32, 1, 1}, .param_bytes = 8};
    copy_in(w);
    for (uint32_t k = 0; k < 6; k++) {
        *random = *random * 1664525 + 1013904223;
        l.grid[0] = k ? 1 + *random / 65536 % 20 : 1;
        wireclient_send(w->c, WIRE_LAUNCH, 0, false, &l, sizeof(l), "12345678", 8);
    }
    copy_out(w);
    wirebench_run(w->b);
    wireclient_say(w->c, WIRE_IDLE);
    wirebench_run(w->b);
}

/* Runs the loop while the client is idle. True: a boundary was found. */
static bool is_over_by_itself(struct world *w) {
    uint64_t before = boundaries(w);
    for (int i = 0; i < 20 && boundaries(w) == before; i++) {
        usleep(1000);
        loop_once(w->b->worker);
    }
    wirebench_run(w->b);
    return boundaries(w) != before;
}

/* Runs requests until gaps count; the last one has just ended, and its boundary has not been
 * found. */
static void serve(struct world *w) {
    const struct client *c = list_entry(w->b->worker->clients.list.next, struct client, link);
    uint32_t random = 1;
    fakedev_hold(w->dev, false);
    for (int i = 0; i < REQUESTS && !c->boundary.waiting; i++) {
        usleep(2000);
        request(w, &random);
    }
    cr_assert(c->boundary.waiting, "no gap counts after %u requests", REQUESTS);
}

Test(boundary, a_client_that_is_idle_for_a_while_is_at_one) {
    struct world w = begin();
    serve(&w);
    cr_expect(is_over_by_itself(&w));
    cr_expect_eq(w.b->worker->boundaries.waiting, 0, "nobody is looked at any more");
    uint64_t before = boundaries(&w);
    copy_in(&w);
    wireclient_launch(w.c, 0, 0, 1);
    wirebench_run(w.b);
    cr_expect_eq(boundaries(&w), before, "the next request needs no second one");
    end(&w);
}

Test(boundary, the_copy_in_belongs_to_its_request) {
    struct world w = begin();
    serve(&w);
    uint64_t before = boundaries(&w);
    usleep(100000);
    copy_in(&w);
    wirebench_run(w.b);
    cr_expect_eq(boundaries(&w), before + 1);
    wireclient_launch(w.c, 0, 0, 1);
    wirebench_run(w.b);
    cr_expect_eq(boundaries(&w), before + 1);
    end(&w);
}

Test(boundary, a_client_is_not_idle_while_it_copies) {
    struct world w = begin();
    serve(&w);
    fakedev_hold(w.dev, true);
    copy_out(&w);
    wirebench_run(w.b);
    cr_expect_not(is_over_by_itself(&w));
    fakedev_finish_all(w.dev);
    wirebench_run(w.b);
    cr_expect(is_over_by_itself(&w));
    end(&w);
}
