/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory that is moved in parts: clients that continue meanwhile, clients that wait, and the state
 * when one ends between two parts. The test runs the worker's loop one round at a time.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "common/atomics.h"
#include "common/err.h"
#include "common/fdutil.h"
#include "daemon/sched/core/view.h"
#include "daemon/worker/client.h"
#include "daemon/worker/loop.h"
#include "daemon/worker/memory/memory_state.h"
#include "daemon/worker/residency/memory_move.h"
#include "test/lib/patience.h"
#include "test/lib/worker/fakedev.h"
#include "test/lib/worker/wireclient.h"

#define PAGE FAKEDEV_GRANULARITY
#define MIB (1ull << 20)
#define E0 WIRECLIENT_EPHEMERAL
#define MANY 24u /* granules of the job that is in the way */
#define FEW 5u   /* granules in its lane */
#define MOST 2u  /* most granules moved in a round */

/* ---- the order of moves ---------------------------------------------------------------------- */

static struct worker *order;
static struct client order_clients[4];
static struct memory order_memories[4];
static uint32_t order_count;

static struct client *order_client(uint32_t lane) {
    struct client *c = &order_clients[order_count];
    c->lane = lane;
    c->next_lane = SCHED_NO_LANE;
    c->memory = &order_memories[order_count++];
    c->memory->lane = (void *)c->memory; /* the client is in a lane */
    return c;
}

static void order_init(void) {
    order = calloc(1, sizeof(*order));
    list_init(&order->moves.list);
}

static void order_finish(void) {
    for (uint32_t i = 0; i < order_count; i++)
        memory_move_forget(order, &order_clients[i]);
    memory_move_forget(order, NULL);
    free(order);
}

TestSuite(moves_order, .init = order_init, .fini = order_finish);

static bool may_after(enum move_kind first, struct client *a, enum move_kind then, struct client *b,
                      uint32_t lane) {
    const struct move *mv = memory_move_add(order, first, a, a ? a->lane : lane);
    struct move *next = memory_move_add(order, then, b, b ? b->lane : lane);
    cr_assert(mv && next);
    bool may = memory_move_may(order, next);
    cr_expect(memory_move_ready(order));
    memory_move_forget(order, a);
    memory_move_forget(order, b);
    cr_expect_not(memory_move_any(order));
    return may;
}

Test(moves_order, who_gets_memory_comes_after_everything) {
    struct client *a = order_client(0), *b = order_client(1);
    static const enum move_kind takers[] = {MOVE_ADMIT, MOVE_LANE, MOVE_IN, MOVE_RETURN};
    for (size_t i = 0; i < sizeof(takers) / sizeof(*takers); i++) {
        cr_expect_not(may_after(MOVE_OUT, a, takers[i], b, 0));
        cr_expect_not(may_after(MOVE_SHRINK, NULL, takers[i], b, 0));
        cr_expect_not(may_after(MOVE_IN, a, takers[i], b, 0), "nor do they pass each other");
    }
}

Test(moves_order, all_else_comes_after_what_is_about_the_same_bytes) {
    struct client *a = order_client(0), *b = order_client(1), *c = order_client(0);
    static const enum move_kind kinds[] = {MOVE_OUT, MOVE_SPILL, MOVE_RESTORE, MOVE_SWITCH};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
        cr_expect(may_after(MOVE_OUT, a, kinds[i], b, 0), "kind %u: another lane", kinds[i]);
        cr_expect_not(may_after(MOVE_OUT, a, kinds[i], c, 0), "kind %u: its lane", kinds[i]);
        cr_expect_not(may_after(MOVE_OUT, a, kinds[i], a, 0), "kind %u: itself", kinds[i]);
        cr_expect_not(may_after(MOVE_SHRINK, NULL, kinds[i], a, 0), "kind %u", kinds[i]);
        cr_expect(may_after(MOVE_SHRINK, NULL, kinds[i], b, 0), "kind %u", kinds[i]);
    }
    cr_expect_not(may_after(MOVE_SPILL, a, MOVE_SHRINK, NULL, 0));
    cr_expect(may_after(MOVE_SPILL, a, MOVE_SHRINK, NULL, 1));
    cr_expect(may_after(MOVE_LANE, b, MOVE_SHRINK, NULL, 0));
    b->next_lane = 0; /* the client has pages in both lanes */
    cr_expect_not(may_after(MOVE_LANE, b, MOVE_SHRINK, NULL, 0));
    cr_expect_not(may_after(MOVE_LANE, b, MOVE_SHRINK, NULL, 1));
    a->memory->lane = NULL; /* the client left its lane first */
    cr_expect(may_after(MOVE_OUT, a, MOVE_SWITCH, c, 0));
    cr_expect(may_after(MOVE_OUT, a, MOVE_SHRINK, NULL, 0));
    cr_expect_not(may_after(MOVE_OUT, a, MOVE_IN, a, 0));
}

Test(moves_order, what_ends_is_given_back_in_the_place_of_what_was_to_be_done) {
    struct client *a = order_client(0), *b = order_client(1), *c = order_client(0);
    memory_move_add(order, MOVE_OUT, a, 0);
    struct move *in = memory_move_add(order, MOVE_IN, b, 1);
    struct move *turn = memory_move_add(order, MOVE_SWITCH, c, 0);
    memory_move_add(order, MOVE_IN, a, 0);
    cr_expect_not(memory_move_may(order, turn));
    a->com.fault = ERR_LEFT;
    cr_assert(memory_move_end(order, a) && memory_move_end(order, a));
    cr_expect_eq(a->moves, 1);
    cr_expect_not(memory_move_may(order, in), "its memory is not there yet");
    cr_expect(memory_move_may(order, turn), "nobody wants what is in the lane");
    struct move *end = list_entry(order->moves.list.next, struct move, link);
    cr_expect_eq(end->kind, MOVE_END);
    cr_expect_not(memory_move_may(order, end), "something of it is on the device");
    a->ending = a->memory;
    a->memory = NULL;
    cr_expect(memory_move_may(order, end));
    struct move *shrink = memory_move_add(order, MOVE_SHRINK, NULL, 0);
    cr_expect_not(memory_move_may(order, shrink), "it has pages there");
    struct client *d = order_client(0);
    d->com.fault = ERR_LEFT;
    cr_assert(memory_move_end(order, d));
    d->ending = d->memory;
    d->memory = NULL;
    struct move *last = list_entry(order->moves.list.prev, struct move, link);
    cr_expect(memory_move_may(order, last), "what only gives waits for nobody");
    memory_move_remove(order, last);
    memory_move_remove(order, end);
    cr_expect(memory_move_may(order, in));
}

/* ---- rounds ---------------------------------------------------------------------------------- */

struct world {
    struct wirebench *b;
    struct worker *worker;
    struct dev *dev;
    struct wireclient *big, *next, *neighbour;
};

static struct wireclient *join(struct world *w, uint64_t persistent, uint64_t iterations) {
    struct wire_job job = {.flags = WIRE_JOB_RESERVED,
                           .persistent_bytes = persistent,
                           .ephemeral_bytes = persistent ? FEW * PAGE : 0,
                           .iterations = iterations,
                           .duration_ns = iterations << 20};
    return wireclient_attach_as(w->b, &job, 0);
}

static void put(struct wireclient *c, uint64_t offset, unsigned char byte) {
    memset(c->host + byte * 4096, byte, 4096);
    wireclient_copy(c, 0, c->windows.dev_base + offset, c->windows.host_base + byte * 4096, 4096);
}

static int get(struct world *w, struct wireclient *c, uint64_t offset) {
    const unsigned char *at = (unsigned char *)c->host + 4 * MIB;
    wireclient_copy(c, 0, c->windows.host_base + 4 * MIB, c->windows.dev_base + offset, 4096);
    cr_assert(PATIENCE_UNTIL((wirebench_run(w->b), wireclient_done(c, 0) == c->seq[0])),
              "it hangs");
    cr_assert_eq(wireclient_fault(c), 0, "%s", c->com->fault.text);
    return at[0] == at[4095] ? at[0] : -1;
}

/* `big` has most of the device and is within an iteration; `next`, which is shorter, waits for
 * its memory. */
static struct world begin(void) {
    struct policy_config policy = {.lane = "srtf", .exclusive = 0, .swap = 1};
    struct worker_config config = {.ops = &fakedev, .policy = policy, .share_users = true};
    struct world w = {.b = wirebench_start_as(&config)};
    w.worker = w.b->worker;
    w.dev = w.worker->dev;
    w.neighbour = join(&w, 0, 0);
    wireclient_kernels(w.neighbour, "kern");
    w.big = join(&w, 200 * MIB, 1000);
    wireclient_kernels(w.big, "kern");
    cr_assert_eq(wireclient_result(w.big, wireclient_mem(w.big, WIRE_MEM_BACK, 0, MANY * PAGE)), 0);
    cr_assert_eq(wireclient_result(w.big, wireclient_mem(w.big, WIRE_MEM_BACK, E0, FEW * PAGE)), 0);
    for (uint32_t i = 0; i < MANY; i++)
        put(w.big, i * PAGE, (unsigned char)(1 + i));
    wireclient_launch(w.big, 0, 0, 1);
    wirebench_run(w.b);
    w.next = join(&w, 200 * MIB, 2);
    wirebench_run(w.b);
    w.worker->moves.most = MOST;
    w.worker->moves.pace.most = 0;
    return w;
}

static void leave(struct wireclient *c) {
    cr_expect_eq(wireclient_fault(c), 0, "%s", c->com->fault.text);
    wireclient_detach(c);
    wireclient_free(c);
}

static void end(struct world *w) {
    const char *what;
    if (w->big) leave(w->big);
    if (w->next) leave(w->next);
    leave(w->neighbour);
    cr_expect_eq(fakedev_violations(w->dev, &what), 0, "%s", what);
    cr_expect_eq(w->worker->ops->mem_used(w->dev), 0);
    wirebench_stop(w->b);
}

/* Runs until there is a move that does not fit into one round. */
static void begin_move(struct world *w) {
    cr_assert(PATIENCE_UNTIL(
                  (w->worker->loop.tick_ns = 0, loop_once(w->worker), memory_move_any(w->worker))),
              "nothing is moved");
}

/* One round: the neighbour's launch of the round before has completed. */
static void turn_beside(struct world *w) {
    uint64_t seq = wireclient_launch(w->neighbour, 0, 0, 1);
    w->worker->loop.tick_ns = 0;
    loop_once(w->worker);
    cr_assert_geq(wireclient_done(w->neighbour, 0) + 1, seq, "the neighbour waits");
}

static void detach(struct world *w, struct wireclient *c) {
    struct wire_worker_msg msg = {.kind = WIRE_DETACH, .job_id = c->job_id};
    cr_assert_eq(fdutil_send(w->b->sock, &msg, sizeof(msg), NULL, 0), 0);
}

static void say_boundary(struct world *w) {
    wireclient_say(w->big, WIRE_ITERATION);
    /* belongs to the next iteration, so it waits for its turn */
    wireclient_launch(w->big, 0, 0, 2);
    wireclient_copy(w->big, 0, w->big->windows.host_base + 5 * MIB,
                    w->big->windows.dev_base + (MANY - 1) * PAGE, 4096);
    begin_move(w);
}

Test(moves, a_neighbour_runs_while_much_goes_out_and_comes_back) {
    struct world w = begin();
    uint64_t ping = wireclient_ping(w.next);
    say_boundary(&w);
    uint32_t rounds = 0;
    for (; memory_move_any(w.worker); rounds++) {
        cr_expect_null(wireclient_reply(w.next, ping), "there is no room for it yet");
        turn_beside(&w);
    }
    cr_expect_geq(rounds, MANY / MOST - 1);
    cr_expect_eq(atom_load_relaxed(&w.big->com->stats.swaps), 1);
    cr_expect_eq(atom_load_relaxed(&w.big->com->stats.swapped_bytes), MANY * PAGE);
    cr_expect_eq(wireclient_result(w.next, ping), 0);
    detach(&w, w.next);
    begin_move(&w);
    for (rounds = 0; memory_move_any(w.worker); rounds++)
        turn_beside(&w);
    cr_expect_geq(rounds, MANY / MOST - 1);
    for (uint32_t i = 0; i < MANY; i++)
        cr_expect_eq(get(&w, w.big, i * PAGE), 1 + i);
    cr_expect_leq(w.worker->moves.pace.most, MOST, "%u", w.worker->moves.pace.most);
    struct wire_worker_msg msg;
    cr_assert(wirebench_hear(w.b, &msg, NULL));
    cr_expect_eq(msg.kind, WIRE_DETACHED);
    wireclient_free(w.next);
    w.next = NULL;
    end(&w);
}

Test(moves, a_job_that_ends_gives_its_memory_back_while_others_run) {
    struct world w = begin();
    uint64_t ping = wireclient_ping(w.next), used = w.worker->ops->mem_used(w.dev);
    detach(&w, w.big);
    begin_move(&w);
    uint32_t rounds = 0;
    for (; memory_move_any(w.worker); rounds++) {
        uint64_t now = w.worker->ops->mem_used(w.dev);
        cr_expect_leq(used - now, MOST * PAGE, "%lu", (used - now) / PAGE);
        used = now;
        cr_expect_null(wireclient_reply(w.next, ping), "there is no room for it yet");
        turn_beside(&w);
    }
    cr_expect_geq(rounds, MANY / MOST - 1);
    cr_expect_leq(w.worker->moves.pace.most, MOST, "%u", w.worker->moves.pace.most);
    cr_expect_eq(wireclient_result(w.next, ping), 0);
    struct wire_worker_msg msg;
    cr_assert(wirebench_hear(w.b, &msg, NULL));
    cr_expect_eq(msg.kind, WIRE_DETACHED);
    wireclient_free(w.big);
    w.big = NULL;
    end(&w);
}

/* A client that waits for memory gets it when all of it is free, even if its holder ends half
 * swapped out. */
Test(moves, who_ends_between_two_parts_leaves_nothing) {
    for (uint32_t rounds = 0; rounds <= MANY / MOST; rounds++) {
        struct world w = begin();
        uint64_t ping = wireclient_ping(w.next);
        say_boundary(&w);
        for (uint32_t i = 0; i < rounds && memory_move_any(w.worker); i++)
            turn_beside(&w);
        detach(&w, w.big);
        while (!wireclient_reply(w.next, ping)) {
            cr_expect_leq(w.worker->ops->mem_used(w.dev), (MANY + FEW) * PAGE);
            turn_beside(&w);
        }
        cr_expect_eq(w.worker->ops->mem_used(w.dev), 0, "after %u rounds", rounds);
        wirebench_run(w.b);
        struct wire_worker_msg msg;
        cr_assert(wirebench_hear(w.b, &msg, NULL));
        cr_expect_eq(msg.kind, WIRE_DETACHED);
        wireclient_free(w.big);
        w.big = NULL;
        end(&w);
    }
}

/* The reverse: the client that needs the memory ends first, and the other one comes back. */
Test(moves, who_is_half_out_comes_back_as_it_was) {
    for (uint32_t rounds = 0; rounds <= MANY / MOST; rounds += 3) {
        struct world w = begin();
        say_boundary(&w);
        for (uint32_t i = 0; i < rounds && memory_move_any(w.worker); i++)
            turn_beside(&w);
        detach(&w, w.next);
        const struct client *big = client_find(w.worker, w.big->job_id);
        for (uint32_t i = 0; i < 100; i++) {
            if (big->moves) cr_expect_eq(big->inflight, 0, "it runs, and half of it is out");
            w.worker->loop.tick_ns = 0;
            loop_once(w.worker);
        }
        for (uint32_t i = 0; i < MANY; i++)
            cr_expect_eq(get(&w, w.big, i * PAGE), 1 + i);
        cr_expect_eq(w.big->host[5 * MIB], MANY, "what waited for it saw all of it");
        cr_expect_leq(w.worker->moves.pace.most, MOST, "%u", w.worker->moves.pace.most);
        struct wire_worker_msg msg;
        cr_assert(wirebench_hear(w.b, &msg, NULL));
        cr_expect_eq(msg.kind, WIRE_DETACHED);
        wireclient_free(w.next);
        w.next = NULL;
        end(&w);
    }
}

/* Memory that a move will free is not promised to others: a job that asks for more waits for the
 * move's end. */
Test(moves, more_than_was_granted_comes_when_all_is_moved) {
    struct world w = begin();
    say_boundary(&w);
    uint64_t more = wireclient_mem(w.neighbour, WIRE_MEM_BACK, 0, PAGE);
    while (memory_move_any(w.worker)) {
        cr_expect_null(wireclient_reply(w.neighbour, more));
        loop_once(w.worker);
    }
    cr_expect_eq(wireclient_result(w.neighbour, more), 0);
    end(&w);
}

/* The scheduler gave the job its memory long ago. Until that memory is mapped, the job does not
 * count as idle. */
Test(moves, whose_memory_comes_is_not_idle) {
    struct world w = begin();
    say_boundary(&w);
    while (memory_move_any(w.worker))
        turn_beside(&w);
    detach(&w, w.next);
    begin_move(&w);
    struct sched_job_view view;
    uint64_t steps = w.worker->scheduling.steps;
    uint32_t rounds = 0;
    for (; memory_move_any(w.worker); rounds++) {
        cr_assert(sched_job(w.worker->scheduling.sched, w.big->job_id, &view));
        cr_expect_not(view.swapped);
        w.worker->loop.tick_ns = 0;
        loop_once(w.worker);
    }
    cr_expect_geq(w.worker->scheduling.steps - steps, rounds - 1, "it hears of each round");
    wirebench_run(w.b);
    struct wire_worker_msg msg;
    cr_assert(wirebench_hear(w.b, &msg, NULL));
    wireclient_free(w.next);
    w.next = NULL;
    end(&w);
}

/* A job's pages in its lane may be remapped as the lane shrinks, so the job does not run
 * meanwhile. */
Test(moves, nobody_runs_in_a_lane_that_shrinks) {
    struct policy_config policy = {.exclusive = -1, .swap = -1, .max_lanes = 1};
    struct worker_config config = {.ops = &fakedev, .policy = policy, .share_users = true};
    struct world w = {.b = wirebench_start_as(&config)};
    struct wire_job unknown = {0};
    w.worker = w.b->worker;
    w.dev = w.worker->dev;
    /* the neighbour's reservation is measured after three iterations */
    w.neighbour = wireclient_attach_as(w.b, &unknown, 0);
    wireclient_kernels(w.neighbour, "kern");
    cr_assert_eq(
        wireclient_result(w.neighbour, wireclient_mem(w.neighbour, WIRE_MEM_BACK, E0, 8 * PAGE)),
        0);
    cr_assert_eq(
        wireclient_result(w.neighbour, wireclient_mem(w.neighbour, WIRE_MEM_UNBACK, E0, 6 * PAGE)),
        0);
    for (int i = 0; i < 2; i++) {
        wireclient_launch(w.neighbour, 0, 0, 1);
        wireclient_say(w.neighbour, WIRE_ITERATION);
        wirebench_run(w.b);
    }
    w.worker->moves.most = 1;
    for (uint32_t i = 0; i < 2; i++) {
        wireclient_launch(w.neighbour, 0, 0, 1);
        if (!i) wireclient_say(w.neighbour, WIRE_ITERATION);
    }
    begin_move(&w);
    uint32_t rounds = 0;
    for (; memory_move_any(w.worker); rounds++) {
        cr_expect_lt(wireclient_done(w.neighbour, 0), w.neighbour->seq[0]);
        cr_expect_eq(w.worker->load.inflight, 0);
        w.worker->loop.tick_ns = 0;
        loop_once(w.worker);
    }
    cr_expect_geq(rounds, 3, "%u", rounds);
    wirebench_run(w.b);
    cr_expect_eq(wireclient_done(w.neighbour, 0), w.neighbour->seq[0]);
    end(&w);
}

/* A client that needs memory that cannot be allocated ends, also in the middle of a move. */
Test(moves, a_part_that_fails_is_the_end_of_that_client_alone) {
    for (uint32_t n = 1; n <= 3; n++) {
        struct world w = begin();
        uint64_t ping = wireclient_ping(w.next);
        say_boundary(&w);
        turn_beside(&w);
        fakedev_fail(w.dev, n, false);
        cr_assert(PATIENCE_UNTIL((turn_beside(&w), wireclient_fault(w.big) != 0)));
        fakedev_fail(w.dev, 0, false);
        cr_expect_eq(wireclient_result(w.next, ping), 0);
        cr_expect_eq(w.worker->ops->mem_used(w.dev), 0);
        wireclient_detach(w.big);
        wireclient_free(w.big);
        w.big = NULL;
        end(&w);
    }
}
