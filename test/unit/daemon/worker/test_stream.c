/* SPDX-License-Identifier: Apache-2.0
 *
 * Order: within a stream, across streams by waits, and CUDA's legacy default stream. First as short
 * scenarios, then as random programs compared with a model that gives, for every moment, exactly
 * the operations that must have started.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/atomics.h"
#include "daemon/worker/client.h"
#include "test/lib/worker/fakedev.h"
#include "test/lib/worker/wireclient.h"

struct world {
    struct wirebench *b;
    struct wireclient *c;
    struct dev *dev;
};

static struct world begin_as(uint32_t cap, bool in_order) {
    struct world w = {.b = wirebench_start(&fakedev, cap)};
    w.b->worker->info.in_order = in_order;
    w.c = wireclient_attach(w.b);
    w.dev = w.b->worker->dev;
    wireclient_kernels(w.c, "kern");
    fakedev_hold(w.dev, true);
    return w;
}

static struct world begin(uint32_t cap) {
    return begin_as(cap, false);
}

static void end(struct world *w) {
    fakedev_hold(w->dev, false);
    wireclient_detach(w->c);
    cr_expect_eq(fakedev_violations(w->dev, NULL), 0);
    cr_expect_eq(fakedev_spaces(w->dev), 0);
    wireclient_free(w->c);
    wirebench_stop(w->b);
}

static const char *launched(struct world *w) {
    return wirebench_launched(w->b);
}

static void finish(struct world *w, uint32_t busy_queue) {
    fakedev_finish(w->dev, busy_queue);
    wirebench_run(w->b);
}

Test(stream, one_stream_is_handed_over_in_order_without_waiting) {
    struct world w = begin(0);
    for (uint64_t i = 1; i <= 3; i++)
        wireclient_launch(w.c, 0, 0, i);
    cr_expect_str_eq(launched(&w), "1 2 3");
    cr_expect_eq(wireclient_done(w.c, 0), 0);
    finish(&w, 0);
    cr_expect_eq(wireclient_done(w.c, 0), 1);
    fakedev_finish_all(w.dev);
    wirebench_run(w.b);
    cr_expect_eq(wireclient_done(w.c, 0), 3);
    end(&w);
}

/* The order in which the worker learns of operations does not matter: complete or not, in any
 * stream, with or without a mark before them. */
Test(stream, a_deterministic_device_has_one_at_a_time_in_the_client_s_order) {
    struct world w = begin_as(0, true);
    for (uint32_t s = 1; s <= 3; s++)
        wireclient_create_stream(w.c, s, s == 3 ? 0 : WIRE_STREAM_NONBLOCKING);
    uint64_t seq = wireclient_launch(w.c, 1, 0, 1);
    wireclient_launch(w.c, 1, 0, 2);
    wireclient_launch(w.c, 2, 0, 3);
    wireclient_event(w.c, 1, 5);
    wireclient_wait(w.c, 2, 1, seq + 1);
    wireclient_launch(w.c, 2, 0, 4);
    wireclient_launch(w.c, 3, 0, 5);
    wireclient_launch(w.c, 0, 0, 6);
    wireclient_launch(w.c, 1, 0, 7);
    for (unsigned k = 1; k <= 7; k++) {
        char only[4];
        snprintf(only, sizeof(only), "%u", k);
        cr_expect_str_eq(launched(&w), only);
        fakedev_finish_all(w.dev);
        wirebench_run(w.b);
    }
    cr_expect_str_eq(launched(&w), "");
    cr_expect_eq(wireclient_done(w.c, 1), 4);
    end(&w);
}

Test(stream, a_wait_holds_its_stream_and_no_other) {
    struct world w = begin(0);
    for (uint32_t s = 1; s <= 3; s++)
        wireclient_create_stream(w.c, s, WIRE_STREAM_NONBLOCKING);
    uint64_t seq = wireclient_launch(w.c, 1, 0, 10);
    wireclient_wait(w.c, 2, 1, seq);
    wireclient_launch(w.c, 2, 0, 20);
    wireclient_launch(w.c, 3, 0, 30);
    cr_expect_str_eq(launched(&w), "10 30");
    finish(&w, 0);
    cr_expect_str_eq(launched(&w), "20");
    end(&w);
}

Test(stream, a_wait_for_what_is_complete_passes_and_pipelines) {
    struct world w = begin(0);
    wireclient_create_stream(w.c, 1, WIRE_STREAM_NONBLOCKING);
    wireclient_create_stream(w.c, 2, WIRE_STREAM_NONBLOCKING);
    uint64_t seq = wireclient_launch(w.c, 1, 0, 1);
    cr_expect_str_eq(launched(&w), "1");
    finish(&w, 0);
    wireclient_launch(w.c, 2, 0, 2);
    wireclient_wait(w.c, 2, 1, seq);
    wireclient_event(w.c, 2, 5);
    wireclient_launch(w.c, 2, 0, 3);
    cr_expect_str_eq(launched(&w), "2 3");
    cr_expect_eq(wireclient_done(w.c, 2), 0);
    finish(&w, 0);
    cr_expect_eq(wireclient_done(w.c, 2), 3, "launch, wait and event are complete");
    end(&w);
}

static void copy(struct world *w, uint32_t stream) {
    uint64_t host = w->c->windows.host_base;
    wireclient_copy(w->c, stream, host, host + 4096, 64);
}

/* On devices where end times cost something: requests them for operations on the device, for
 * later ones, and in the legacy stream for all that it waits for; for no others. */
Test(stream, an_event_asks_when_what_is_before_it_ends) {
    struct world w = begin(0);
    w.b->worker->info.coarse = true;
    for (uint32_t s = 1; s <= 3; s++)
        wireclient_create_stream(w.c, s, WIRE_STREAM_NONBLOCKING);
    wireclient_create_stream(w.c, 4, 0);
    copy(&w, 1), copy(&w, 1), copy(&w, 4);
    wirebench_run(w.b);
    cr_expect_eq(fakedev_asked(w.dev), 0);
    wireclient_event(w.c, 1, 5);
    wireclient_event(w.c, 3, 6);
    wirebench_run(w.b);
    cr_expect_eq(fakedev_asked(w.dev), 1);
    wireclient_wait(w.c, 2, 1, 3);
    copy(&w, 2);
    wireclient_wait(w.c, 2, 1, 3);
    wireclient_event(w.c, 2, 7);
    wirebench_run(w.b);
    cr_expect_eq(fakedev_asked(w.dev), 1, "it has not begun");
    wireclient_event(w.c, 0, 8);
    wirebench_run(w.b);
    cr_expect_eq(fakedev_asked(w.dev), 2, "the blocking stream's");
    fakedev_finish_all(w.dev);
    wirebench_run(w.b);
    cr_expect_eq(fakedev_asked(w.dev), 3);
    w.b->worker->info.coarse = false;
    copy(&w, 1);
    wireclient_event(w.c, 1, 5);
    wirebench_run(w.b);
    cr_expect_eq(fakedev_asked(w.dev), 3);
    end(&w);
}

Test(stream, the_legacy_stream_waits_for_blocking_streams_and_they_for_it) {
    struct world w = begin(0);
    wireclient_create_stream(w.c, 1, 0);
    wireclient_create_stream(w.c, 2, 0);
    wireclient_create_stream(w.c, 3, WIRE_STREAM_NONBLOCKING);
    wireclient_launch(w.c, 1, 0, 1);
    wireclient_launch(w.c, 0, 0, 2); /* waits for operation 1 */
    wireclient_launch(w.c, 2, 0, 3); /* waits for operation 2 */
    wireclient_launch(w.c, 3, 0, 4); /* independent */
    wireclient_launch(w.c, 0, 0, 5); /* waits for operation 3 */
    cr_expect_str_eq(launched(&w), "1 4");
    fakedev_finish_all(w.dev);
    cr_expect_str_eq(launched(&w), "2");
    fakedev_finish_all(w.dev);
    cr_expect_str_eq(launched(&w), "3");
    fakedev_finish_all(w.dev);
    cr_expect_str_eq(launched(&w), "5");
    end(&w);
}

Test(stream, a_host_function_holds_its_stream_until_it_returned) {
    struct world w = begin(0);
    wireclient_create_stream(w.c, 1, WIRE_STREAM_NONBLOCKING);
    wireclient_launch(w.c, 1, 0, 1);
    wireclient_host_func(w.c, 1, 0xabc);
    wireclient_launch(w.c, 1, 0, 2);
    wireclient_launch(w.c, 0, 0, 9);
    cr_expect_str_eq(launched(&w), "1 9");
    cr_expect_eq(atom_load_acquire(&w.c->com->callbacks_posted), 0, "the launch is not complete");
    fakedev_finish_all(w.dev);
    cr_expect_str_eq(launched(&w), "");
    cr_expect_eq(atom_load_acquire(&w.c->com->callbacks_posted), 1);
    cr_expect_eq(w.c->com->callbacks[0], 0xabc);
    atom_store_release(&w.c->sub->callbacks_done, 1);
    cr_expect_str_eq(launched(&w), "2");
    cr_expect_eq(wireclient_done(w.c, 1), 2);
    end(&w);
}

Test(stream, more_host_functions_than_places_take_turns) {
    struct world w = begin(0);
    enum { STREAMS = WIRE_CALLBACKS + 40 };
    for (uint32_t s = 1; s <= STREAMS; s++) {
        wireclient_create_stream(w.c, s, WIRE_STREAM_NONBLOCKING);
        wireclient_host_func(w.c, s, s);
    }
    wirebench_run(w.b);
    cr_expect_eq(atom_load_acquire(&w.c->com->callbacks_posted), WIRE_CALLBACKS);
    atom_store_release(&w.c->sub->callbacks_done, 30);
    wirebench_run(w.b);
    cr_expect_eq(atom_load_acquire(&w.c->com->callbacks_posted), WIRE_CALLBACKS + 30);
    atom_store_release(&w.c->sub->callbacks_done, WIRE_CALLBACKS + 30);
    wirebench_run(w.b);
    atom_store_release(&w.c->sub->callbacks_done, STREAMS);
    wirebench_run(w.b);
    for (uint32_t s = 1; s <= STREAMS; s++)
        cr_expect_eq(wireclient_done(w.c, s), 1);
    end(&w);
}

Test(stream, a_destroyed_stream_ends_its_work_and_its_id_can_be_used_again) {
    struct world w = begin(0);
    wireclient_create_stream(w.c, 7, WIRE_STREAM_NONBLOCKING);
    wireclient_launch(w.c, 7, 0, 1);
    wireclient_destroy_stream(w.c, 7);
    wireclient_create_stream(w.c, 7, WIRE_STREAM_NONBLOCKING);
    wireclient_launch(w.c, 7, 0, 2);
    cr_expect_str_eq(launched(&w), "1 2");
    wireclient_destroy_stream(w.c, 7);
    fakedev_finish_all(w.dev);
    wirebench_run(w.b);
    cr_expect_eq(wireclient_done(w.c, 7), 2);
    wireclient_create_stream(w.c, 7, WIRE_STREAM_NONBLOCKING);
    wireclient_launch(w.c, 7, 0, 3);
    cr_expect_str_eq(launched(&w), "3");
    cr_expect_eq(wireclient_fault(w.c), 0);
    end(&w);
}

Test(stream, long_queues_keep_their_order) {
    struct world w = begin(4);
    wireclient_create_stream(w.c, 1, WIRE_STREAM_NONBLOCKING);
    uint64_t gate = wireclient_launch(w.c, 1, 0, 0);
    wireclient_wait(w.c, 0, 1, gate);
    for (uint64_t i = 1; i <= 5000; i++)
        wireclient_launch(w.c, 0, 0, i);
    cr_expect_str_eq(launched(&w), "0");
    fakedev_hold(w.dev, false);
    wirebench_run(w.b);
    cr_expect_eq(fakedev_launches(w.dev), 5000);
    for (uint32_t i = 0; i < 5000; i++)
        cr_assert_eq(fakedev_token(w.dev, i), i + 1);
    cr_expect_eq(wireclient_done(w.c, 0), 5001);
    end(&w);
}

/* ---- random programs ------------------------------------------------------------------------- */

enum { STREAMS = 6, OPS = 48, EPISODES = 400 }; /* 0: legacy; 1..3: blocking; 4, 5: not */

enum kind { LAUNCH, EVENT, WAIT, HOST, FENCE };

struct model_op {
    enum kind kind;
    uint32_t stream, on;
    uint64_t seq, on_seq;
    bool started, done; /* launches and host functions: as the device and the client report them */
};

struct model {
    struct model_op ops[OPS];
    uint32_t count;
    uint32_t hosts[OPS], hosts_done; /* in the order in which they were posted */
    uint32_t hosts_posted;
};

static uint32_t rnd(uint64_t *seed, uint32_t below) {
    *seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)((*seed >> 33) % below);
}

static bool blocking(uint32_t stream) {
    return stream >= 1 && stream <= 3;
}

/* Returns whether operation `i` may start, by the definition: checks all operations submitted
 * before it. */
static bool may_start(const struct model *m, uint32_t i) {
    const struct model_op *op = &m->ops[i];
    for (uint32_t j = 0; j < i; j++) {
        const struct model_op *p = &m->ops[j];
        if (p->kind == FENCE || op->kind == FENCE) {
            if (!p->done) return false;
            continue;
        }
        if (p->stream == op->stream) {
            bool ok = op->kind == HOST || p->kind == HOST ? p->done : p->started;
            if (!ok) return false;
        }
        bool legacy =
            (op->stream == 0 && blocking(p->stream)) || (blocking(op->stream) && p->stream == 0);
        if (legacy && !p->done) return false;
        if (op->kind == WAIT && p->stream == op->on && p->seq <= op->on_seq && !p->done)
            return false;
    }
    return true;
}

/* True if everything before it in its stream is complete. */
static bool is_first(const struct model *m, uint32_t i) {
    for (uint32_t j = 0; j < i; j++)
        if (m->ops[j].kind != FENCE && m->ops[j].stream == m->ops[i].stream && !m->ops[j].done)
            return false;
    return true;
}

/* Advances the model to the state of a worker that neither waits too long nor runs ahead. */
static void settle(struct model *m) {
    for (uint32_t i = 0; i < m->count; i++) {
        struct model_op *op = &m->ops[i];
        if (!op->started && may_start(m, i)) {
            op->started = true;
            if (op->kind == HOST) m->hosts_posted++;
        }
        if (op->kind == FENCE) op->done = op->started;
        if (op->kind == EVENT || op->kind == WAIT) op->done = op->started && is_first(m, i);
    }
}

static void send_random(struct world *w, struct model *m, uint64_t *seed) {
    struct model_op *op = &m->ops[m->count];
    uint32_t pick = rnd(seed, 20);
    *op = (struct model_op){.kind = pick < 9    ? LAUNCH
                                    : pick < 12 ? EVENT
                                    : pick < 16 ? WAIT
                                    : pick < 19 ? HOST
                                                : FENCE,
                            .stream = rnd(seed, STREAMS),
                            .on = rnd(seed, STREAMS)};
    if (op->kind == LAUNCH) op->seq = wireclient_launch(w->c, op->stream, 0, m->count);
    if (op->kind == EVENT) op->seq = wireclient_event(w->c, op->stream, m->count);
    if (op->kind == HOST) op->seq = wireclient_host_func(w->c, op->stream, m->count);
    if (op->kind == FENCE) wireclient_mem(w->c, WIRE_MEM_UNBACK, 0, FAKEDEV_GRANULARITY);
    if (op->kind == WAIT) {
        op->on_seq = w->c->seq[op->on] ? rnd(seed, (uint32_t)w->c->seq[op->on] + 1) : 0;
        op->seq = wireclient_wait(w->c, op->stream, op->on, op->on_seq);
    }
    m->count++;
}

/* Compares the worker's actions with the model's. */
static void compare(struct world *w, const struct model *m, uint32_t host_base) {
    bool started[OPS] = {0};
    for (uint32_t i = 0; i < fakedev_launches(w->dev); i++)
        started[fakedev_token(w->dev, i)] = true;
    for (uint32_t i = 0; i < m->count; i++) {
        const struct model_op *op = &m->ops[i];
        if (op->kind == LAUNCH)
            cr_assert_eq(started[i], op->started, "operation %u of stream %u: started %d, not %d",
                         i, op->stream, started[i], op->started);
        if (op->kind != FENCE)
            cr_assert_eq(wireclient_done(w->c, op->stream) >= op->seq, op->done,
                         "operation %u of stream %u: done is not %d", i, op->stream, op->done);
    }
    cr_assert_eq(atom_load_acquire(&w->c->com->callbacks_posted) - host_base, m->hosts_posted);
}

/* Completes one launch on the device, or returns from one host function, at random. */
static bool complete_random(struct world *w, struct model *m, uint64_t *seed, uint32_t host_base) {
    uint32_t busy = fakedev_busy(w->dev), pick = rnd(seed, busy + 1);
    if (pick < busy) {
        uint64_t token = fakedev_head(w->dev, pick);
        fakedev_finish(w->dev, pick);
        m->ops[token].done = true;
        return true;
    }
    if (m->hosts_done == m->hosts_posted) return busy != 0;
    uint64_t token = w->c->com->callbacks[(host_base + m->hosts_done++) % WIRE_CALLBACKS];
    m->ops[token].done = true;
    atom_store_release(&w->c->sub->callbacks_done, host_base + m->hosts_done);
    return true;
}

static void episode(struct world *w, uint64_t *seed) {
    struct model m = {0};
    uint32_t host_base = (uint32_t)atom_load_acquire(&w->c->com->callbacks_posted);
    uint32_t total = 4 + rnd(seed, OPS - 4);
    fakedev_forget_launches(w->dev);
    for (uint32_t still = 0; still < 3;) {
        bool more = true;
        if (m.count < total && rnd(seed, 3))
            send_random(w, &m, seed);
        else
            more = complete_random(w, &m, seed, host_base) || m.count < total;
        still = more ? 0 : still + 1;
        if (more && rnd(seed, 4)) continue;
        /* Fences and host functions may release operations that release further ones. */
        for (int i = 0; i < OPS; i++)
            settle(&m);
        wirebench_run(w->b);
        compare(w, &m, host_base);
    }
    for (uint32_t i = 0; i < m.count; i++)
        cr_assert(m.ops[i].done, "operation %u of %u is stuck", i, m.count);
}

Test(stream, random_programs_start_exactly_what_the_model_says, .timeout = 60) {
    struct world w = begin(64);
    uint64_t seed = 7;
    for (uint32_t s = 1; s < STREAMS; s++)
        wireclient_create_stream(w.c, s, blocking(s) ? 0 : WIRE_STREAM_NONBLOCKING);
    for (int i = 0; i < EPISODES; i++)
        episode(&w, &seed);
    cr_expect_eq(wireclient_fault(w.c), 0);
    end(&w);
}

/* The next stream with this number starts with the whole device. */
Test(stream, a_share_of_the_device_is_the_streams_own) {
    struct world w = begin(0);
    struct wire_stream_share half = {.sms = 8};
    wireclient_create_stream(w.c, 1, WIRE_STREAM_NONBLOCKING);
    wireclient_send(w.c, WIRE_STREAM_SHARE, 1, false, &half, sizeof(half), NULL, 0);
    wireclient_launch(w.c, 1, 0, 1);
    cr_expect_str_eq(launched(&w), "1");
    cr_expect_eq(fakedev_head_share(w.dev, 0), 8);
    wireclient_destroy_stream(w.c, 1);
    wireclient_create_stream(w.c, 1, WIRE_STREAM_NONBLOCKING);
    wirebench_run(w.b);
    cr_expect_eq(fakedev_head_share(w.dev, 0), 0);
    end(&w);
}

/* A queue keeps the priority with which it was created. */
Test(stream, a_priority_is_the_streams_when_it_is_empty) {
    struct world w = begin(0);
    struct wire_stream_priority higher = {.priority = -3};
    struct wire_stream_share half = {.sms = 8};
    wireclient_create_stream(w.c, 1, WIRE_STREAM_NONBLOCKING);
    wireclient_send(w.c, WIRE_STREAM_SHARE, 1, false, &half, sizeof(half), NULL, 0);
    wireclient_launch(w.c, 1, 0, 1);
    cr_expect_str_eq(launched(&w), "1");
    wireclient_send(w.c, WIRE_STREAM_PRIORITY, 1, false, &higher, sizeof(higher), NULL, 0);
    wirebench_run(w.b);
    cr_expect_eq(fakedev_head_priority(w.dev, 0), 0, "a kernel is still there");
    finish(&w, 0);
    wireclient_launch(w.c, 1, 0, 2);
    cr_expect_str_eq(launched(&w), "2");
    cr_expect_eq(fakedev_head_priority(w.dev, 0), -3);
    cr_expect_eq(fakedev_head_share(w.dev, 0), 8, "it keeps its share");
    finish(&w, 0);
    higher.priority = -1;
    wireclient_send(w.c, WIRE_STREAM_PRIORITY, 1, false, &higher, sizeof(higher), NULL, 0);
    wireclient_launch(w.c, 1, 0, 3);
    cr_expect_str_eq(launched(&w), "3");
    cr_expect_eq(fakedev_head_priority(w.dev, 0), -1, "an empty stream's at once");
    end(&w);
}

Test(stream, a_share_of_no_stream_is_no_clients) {
    struct world w = begin(0);
    struct wire_stream_share half = {.sms = 8};
    wireclient_send(w.c, WIRE_STREAM_SHARE, 9, false, &half, sizeof(half), NULL, 0);
    wirebench_run(w.b);
    cr_expect_neq(wireclient_fault(w.c), 0);
    end(&w);
}

/* Includes a stream that is opened meanwhile. */
Test(stream, all_streams_of_a_job_stand_still) {
    struct world w = begin(0);
    struct stream_set *streams = &client_find(w.b->worker, w.c->job_id)->streams;
    wireclient_create_stream(w.c, 1, WIRE_STREAM_NONBLOCKING);
    wireclient_launch(w.c, 1, 0, 1);
    cr_expect_str_eq(launched(&w), "1");
    cr_expect_not(fakedev_head_stands(w.dev, 0));
    stream_set_still(streams, true);
    cr_expect(fakedev_head_stands(w.dev, 0));
    wireclient_create_stream(w.c, 2, WIRE_STREAM_NONBLOCKING);
    wireclient_launch(w.c, 2, 0, 2);
    cr_expect_str_eq(launched(&w), "2");
    cr_expect(fakedev_head_stands(w.dev, 1));
    stream_set_still(streams, false);
    cr_expect_not(fakedev_head_stands(w.dev, 0));
    cr_expect_not(fakedev_head_stands(w.dev, 1));
    end(&w);
}

/* A job's share by the scheduler, and a stream's share by the program: the smaller one holds,
 * also for a stream that is opened later. */
Test(stream, a_jobs_share_holds_for_all_its_streams) {
    struct world w = begin(0);
    struct wire_stream_share two = {.sms = 2};
    struct stream_set *streams = &client_find(w.b->worker, w.c->job_id)->streams;
    wireclient_create_stream(w.c, 1, WIRE_STREAM_NONBLOCKING);
    wireclient_send(w.c, WIRE_STREAM_SHARE, 1, false, &two, sizeof(two), NULL, 0);
    wireclient_launch(w.c, 1, 0, 1);
    cr_expect_str_eq(launched(&w), "1");
    stream_set_share(streams, 3);
    cr_expect_eq(fakedev_head_share(w.dev, 0), 2);
    stream_set_share(streams, 1);
    cr_expect_eq(fakedev_head_share(w.dev, 0), 1);
    wireclient_create_stream(w.c, 2, WIRE_STREAM_NONBLOCKING);
    wireclient_launch(w.c, 2, 0, 2);
    cr_expect_str_eq(launched(&w), "2");
    cr_expect_eq(fakedev_head_share(w.dev, 1), 1);
    stream_set_share(streams, 0);
    cr_expect_eq(fakedev_head_share(w.dev, 0), 2);
    cr_expect_eq(fakedev_head_share(w.dev, 1), 0);
    end(&w);
}
