/* SPDX-License-Identifier: Apache-2.0
 *
 * The channel with hostile clients: garbage in the ring, bytes that change while they are read, a
 * flood behind a held stream, and false values in the words that the client may write. The offender
 * ends or is held back; its neighbour is not affected.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/atomics.h"
#include "daemon/worker/loop.h"
#include "test/lib/patience.h"
#include "test/lib/worker/fakedev.h"
#include "test/lib/worker/wireclient.h"

struct world {
    struct wirebench *b;
    struct wireclient *bad, *good;
    struct dev *dev;
    uint64_t tokens; /* launches of the well-behaved client */
};

static struct world begin(void) {
    struct world w = {.b = wirebench_start(&fakedev, 0)};
    w.bad = wireclient_attach(w.b);
    w.good = wireclient_attach(w.b);
    w.dev = w.b->worker->dev;
    wireclient_kernels(w.bad, "bad");
    wireclient_kernels(w.good, "good");
    return w;
}

/* The neighbour continues: launches complete in order, none is lost, no fault appears. */
static void neighbour_works(struct world *w) {
    uint64_t seq = 0;
    for (int i = 0; i < 50; i++)
        seq = wireclient_launch(w->good, 0, 0, ++w->tokens);
    for (int i = 0; i < 2000 && wireclient_done(w->good, 0) != seq; i++)
        wirebench_run(w->b);
    cr_assert_eq(wireclient_done(w->good, 0), seq);
    cr_assert_eq(wireclient_fault(w->good), 0);
}

static void end(struct world *w) {
    const char *what;
    neighbour_works(w);
    wireclient_detach(w->bad);
    wireclient_detach(w->good);
    cr_expect_eq(fakedev_violations(w->dev, &what), 0, "%s", what);
    cr_expect_eq(fakedev_spaces(w->dev), 0);
    wireclient_free(w->bad);
    wireclient_free(w->good);
    wirebench_stop(w->b);
}

/* ---- large allocations ----------------------------------------------------------------------- */

#define PAGE FAKEDEV_GRANULARITY
#define PART 8u /* granules between which other clients get their turn */

/* The number of rounds until the worker answers, in each of which the neighbour's next launch
 * runs. */
static int rounds_until(struct world *w, uint64_t ticket) {
    int rounds = 0;
    while (!wireclient_reply(w->bad, ticket)) {
        uint64_t used = fakedev.mem_used(w->dev);
        uint64_t seq = wireclient_launch(w->good, 0, 0, ++w->tokens);
        loop_once(w->b->worker);
        loop_once(w->b->worker); /* handles the completion */
        uint64_t now = fakedev.mem_used(w->dev);
        cr_assert_eq(wireclient_done(w->good, 0), seq);
        cr_assert_leq(now > used ? now - used : used - now, 2 * PART * PAGE);
        cr_assert(++rounds < 100);
    }
    return rounds;
}

Test(chan, others_go_on_while_much_memory_comes_and_goes) {
    struct world w = begin();
    uint64_t ticket = wireclient_mem(w.bad, WIRE_MEM_BACK, 0, 29 * PAGE);
    cr_assert_geq(rounds_until(&w, ticket), 2);
    cr_assert_eq(wireclient_result(w.bad, ticket), 0);
    cr_assert_eq(fakedev.mem_used(w.dev), 29 * PAGE);
    ticket = wireclient_mem(w.bad, WIRE_MEM_UNBACK, 0, 29 * PAGE);
    cr_assert_geq(rounds_until(&w, ticket), 2);
    cr_assert_eq(wireclient_result(w.bad, ticket), 0);
    cr_assert_eq(fakedev.mem_used(w.dev), 0);
    end(&w);
}

Test(chan, what_comes_behind_memory_finds_all_of_it) {
    struct world w = begin();
    uint64_t last = w.bad->windows.dev_base + 29 * PAGE - 64;
    wireclient_mem(w.bad, WIRE_MEM_BACK, 0, 29 * PAGE);
    strcpy(w.bad->host, "behind it");
    uint64_t seq = wireclient_copy(w.bad, 0, last, w.bad->windows.host_base, 16);
    int rounds = 0;
    for (; wireclient_done(w.bad, 0) != seq && rounds < 100; rounds++) {
        cr_assert_eq(*(const char *)(uintptr_t)last, 0, "too early");
        if (fakedev.mem_used(w.dev) < 29 * PAGE) loop_once(w.b->worker);
        if (fakedev.mem_used(w.dev) < 29 * PAGE) cr_assert_neq(wireclient_done(w.bad, 0), seq);
        if (fakedev.mem_used(w.dev) == 29 * PAGE) wirebench_run(w.b);
    }
    cr_assert(rounds > 1 && rounds < 100);
    cr_assert_str_eq((const char *)(uintptr_t)last, "behind it");
    end(&w);
}

/* A part of the memory is refused: the other parts are freed, but not under running kernels. */
Test(chan, memory_that_is_refused_in_part_is_not_had) {
    struct world w = begin();
    wireclient_mem(w.bad, WIRE_MEM_BACK, 20 * PAGE, PAGE);
    wirebench_run(w.b);
    fakedev_hold(w.dev, true);
    wireclient_launch(w.bad, 0, 0, 1);
    uint64_t ticket = wireclient_mem(w.bad, WIRE_MEM_BACK, 0, 29 * PAGE);
    wirebench_run(w.b);
    cr_assert_null(wireclient_reply(w.bad, ticket));
    fakedev_hold(w.dev, false);
    cr_assert_eq(wireclient_result(w.bad, ticket), -EEXIST);
    cr_assert_eq(fakedev.mem_used(w.dev), PAGE);
    ticket = wireclient_mem(w.bad, WIRE_MEM_BACK, 0, 20 * PAGE);
    cr_assert_eq(wireclient_result(w.bad, ticket), 0);
    end(&w);
}

/* A client that ends in the middle of it leaves nothing behind. */
Test(chan, a_client_ends_while_its_memory_comes) {
    struct world w = begin();
    wireclient_mem(w.bad, WIRE_MEM_BACK, 0, 29 * PAGE);
    loop_once(w.b->worker);
    cr_assert_gt(fakedev.mem_used(w.dev), 0);
    cr_assert_lt(fakedev.mem_used(w.dev), 29 * PAGE);
    wireclient_detach(w.bad);
    for (int i = 0; i < 100 && fakedev.mem_used(w.dev); i++)
        wirebench_run(w.b);
    cr_assert_eq(fakedev.mem_used(w.dev), 0);
    neighbour_works(&w);
    wireclient_detach(w.good);
    wireclient_free(w.bad);
    wireclient_free(w.good);
    wirebench_stop(w.b);
}

/* ---- hostile --------------------------------------------------------------------------------- */

static void expect_expelled(struct world *w) {
    struct wire_worker_msg msg;
    cr_assert(wirebench_hear(w->b, &msg, NULL));
    cr_expect_eq(msg.kind, WIRE_EXPELLED);
    cr_expect_eq(msg.job_id, w->bad->job_id);
    cr_expect_neq(wireclient_fault(w->bad), 0);
}

Test(chan, garbage_in_the_ring_ends_its_client_alone) {
    struct world w = begin();
    srand(1);
    for (size_t i = 0; i < sizeof(w.bad->sub->ring); i++)
        ((unsigned char *)&w.bad->sub->ring)[i] = (unsigned char)rand();
    neighbour_works(&w);
    expect_expelled(&w);
    end(&w);
}

Test(chan, random_bytes_in_well_formed_slots_end_their_client_alone) {
    for (unsigned seed = 1; seed < 30; seed++) {
        struct world w = begin();
        unsigned char junk[400];
        srand(seed);
        for (size_t i = 0; i < sizeof(junk); i++)
            junk[i] = (unsigned char)rand();
        junk[0] = (unsigned char)(1 + seed % 16); /* a known operation */
        junk[1] = 0;
        ring_push(&w.bad->tx, junk, sizeof(struct wire_record) + seed * 8, NULL, 0);
        neighbour_works(&w);
        expect_expelled(&w);
        end(&w);
    }
}

Test(chan, a_sequence_number_that_jumps_ends_the_client) {
    struct world w = begin();
    w.bad->seq[0] += 5;
    wireclient_launch(w.bad, 0, 0, 1);
    expect_expelled(&w);
    cr_expect_neq(strstr(w.bad->com->fault.text, "the record has"), NULL);
    end(&w);
}

Test(chan, nothing_is_read_of_an_expelled_client) {
    struct world w = begin();
    struct wire_ping p = {0};
    wireclient_send(w.bad, 50, 0, true, &p, sizeof(p), NULL, 0);
    uint64_t ticket = wireclient_ping(w.bad);
    expect_expelled(&w);
    wirebench_run(w.b);
    cr_expect_null(wireclient_reply(w.bad, ticket));
    end(&w);
}

Test(chan, lies_about_host_functions_end_the_liar) {
    for (int lie = 0; lie < 2; lie++) {
        struct world w = begin();
        wireclient_host_func(w.bad, 0, 1);
        wireclient_host_func(w.bad, 0, 2);
        wirebench_run(w.b);
        atom_store_release(&w.bad->sub->callbacks_done, lie ? 2 : UINT64_MAX);
        neighbour_works(&w);
        expect_expelled(&w);
        end(&w);
    }
}

/* A held stream does not stop the ring: another stream of the same client continues until the
 * client's quota is full. Then its ring is not read any more, and continues later where it was. */
Test(chan, a_held_stream_fills_the_quota_and_no_more, .timeout = 60) {
    struct world w = begin();
    wireclient_create_stream(w.bad, 1, WIRE_STREAM_NONBLOCKING);
    wireclient_create_stream(w.bad, 2, WIRE_STREAM_NONBLOCKING);
    wireclient_host_func(w.bad, 1, 1);
    for (uint32_t i = 0; i < 10000; i++)
        wireclient_launch(w.bad, 1, 0, i);
    uint64_t free_seq = wireclient_launch(w.bad, 2, 0, 77);
    wirebench_run(w.b);
    cr_expect_eq(wireclient_done(w.bad, 2), free_seq,
                 "ten times the ring held, another stream ran");
    uint32_t sent = 10001; /* queued so far */
    struct wire_launch l = {.grid = {1, 1, 1}, .block = {1, 1, 1}, .param_bytes = 8};
    for (;; sent++) {
        l.rec = (struct wire_record){WIRE_LAUNCH, 0, 1, w.bad->seq[1] + 1, 0};
        int err = ring_push(&w.bad->tx, &l, sizeof(l), "12345678", 8);
        if (err) {
            wirebench_run(w.b);
            err = ring_push(&w.bad->tx, &l, sizeof(l), "12345678", 8);
        }
        if (err) break;
        w.bad->seq[1]++;
        cr_assert_lt(sent, 2 * WORKER_QUOTA, "nothing holds the client back");
    }
    uint64_t queued = atom_load_relaxed(&w.bad->com->stats.queued);
    cr_expect_eq(queued, WORKER_QUOTA);
    neighbour_works(&w);
    atom_store_release(&w.bad->sub->callbacks_done, 1);
    for (int i = 0; i < 10000 && wireclient_done(w.bad, 1) != w.bad->seq[1]; i++)
        wirebench_run(w.b);
    cr_expect_eq(wireclient_done(w.bad, 1), w.bad->seq[1]);
    cr_expect_eq(wireclient_fault(w.bad), 0);
    end(&w);
}

/* ---- double fetch ---------------------------------------------------------------------------- */

static _Atomic bool flipping;
static _Atomic uint64_t flips; /* number of passes over the whole ring */

static void poke(struct wireclient *wc, uint32_t slot, uint32_t func, uint32_t bytes) {
    struct wire_launch *l = (struct wire_launch *)wc->sub->ring.slots[slot].body;
    *(volatile uint32_t *)&l->func = func;
    *(volatile uint32_t *)&l->param_bytes = bytes;
}

/* Flips the function and the parameters' length of every record in the ring between a valid and
 * an invalid value, as long as the worker reads. */
static void *flip(void *arg) {
    struct wireclient *wc = arg;
    while (atom_load_relaxed(&flipping)) {
        for (uint32_t i = 0; i < RING_SLOTS; i++)
            poke(wc, i, 0xffffff00u + (i & 0xff), 60000);
        for (uint32_t i = 0; i < RING_SLOTS; i++)
            poke(wc, i, 0, 8);
        atom_add_relaxed(&flips, 1);
    }
    return NULL;
}

Test(chan, bytes_that_change_while_they_are_read_gain_nothing, .timeout = 180) {
    int survived = 0, ended = 0;
    for (int round = 0; round < 40; round++) {
        struct world w = begin();
        pthread_t thread;
        atom_store_relaxed(&flipping, true);
        cr_assert_eq(pthread_create(&thread, NULL, flip, w.bad), 0);
        for (int i = 0; i < 4 && !wireclient_fault(w.bad); i++) {
            for (int n = 0; n < 200; n++)
                wireclient_launch(w.bad, 0, 0, 5);
            uint64_t before = atom_load_relaxed(&flips);
            usleep(100 + 37 * round);
            /* the other thread has reached the records */
            cr_assert(PATIENCE_UNTIL(atom_load_relaxed(&flips) != before));
            wirebench_run(w.b);
        }
        atom_store_relaxed(&flipping, false);
        pthread_join(thread, NULL);
        wireclient_fault(w.bad) ? ended++ : survived++;
        for (uint32_t i = 0; i < fakedev_launches(w.dev); i++)
            cr_assert(fakedev_kernel(w.dev, i)[0] == 'b' || fakedev_kernel(w.dev, i)[0] == 'g');
        end(&w);
    }
    cr_expect_gt(ended, 0, "the attack must hit to prove anything (%d survived)", survived);
}
