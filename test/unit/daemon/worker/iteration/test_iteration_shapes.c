/* SPDX-License-Identifier: Apache-2.0
 *
 * Typical servers and trainers, with their copies and waits: the detector's iterations must begin
 * where requests or steps begin. Memory does not change, so only the sequence and the waits count.
 * An idle program is checked every millisecond, as in the worker.
 */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "daemon/worker/iteration/iteration.h"

#define MS 1000000ull
#define TO_DEVICE 7001 /* fingerprints of copies */
#define TO_HOST 7002
#define ON_DEVICE 7003
#define WARM_UP 40 /* rounds after which the detector must have found the period */

struct shape {
    struct iteration *it;
    uint64_t now_ns;
    uint32_t operations; /* operations since the start of the round */
    bool due;            /* a round begins with the next operation, or has ended by idling */
    uint32_t right, wrong, ended;
};

static uint32_t launches_first = 30; /* launches at the program's start */

static struct shape shape_start(void) {
    struct shape s = {0};
    cr_assert_eq(iteration_create(&s.it), 0);
    for (uint32_t i = 0; i < launches_first; i++)
        iteration_launch(s.it, 900 + i, 0, s.now_ns += 10000);
    return s;
}

static void found(struct shape *s, bool begins) {
    s->right += begins && s->due;
    s->wrong += begins && !s->due;
    s->due = false;
}

static void kernels(struct shape *s, uint32_t first, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        found(s, iteration_launch(s->it, first + i, 0, s->now_ns += 10000));
}

static void copy(struct shape *s, uint64_t kind) {
    found(s, iteration_transfer(s->it, kind, kind == TO_HOST, 0, s->now_ns += 10000));
}

static void sync(struct shape *s) {
    s->now_ns += 10000;
    iteration_returned(s->it, s->now_ns);
    iteration_idle(s->it, s->now_ns);
}

/* A copy that the program waits for: the worker gets no other sign of the wait. */
static void copy_sync(struct shape *s, uint64_t kind) {
    copy(s, kind);
    s->now_ns += 3 * MS;
    iteration_returned(s->it, s->now_ns);
}

static void idle(struct shape *s, uint64_t ms) {
    for (uint64_t i = 0; i < ms; i++) {
        s->now_ns += MS;
        if (!iteration_end(s->it, s->now_ns)) continue;
        s->ended++;
        found(s, true);
    }
}

static void round_begins(struct shape *s) {
    s->due = true;
}

struct expected {
    enum iteration_source source;
    uint32_t rounds; /* least number of boundaries */
    bool ends;       /* each must be found while the program is idle */
};

/* Runs `round` 240 times; boundaries in the warm-up rounds do not count. */
static void play(void (*round)(struct shape *s, uint32_t i), struct expected e) {
    struct shape s = shape_start();
    for (uint32_t i = 0; i < 240; i++) {
        if (i == WARM_UP) s.right = s.wrong = s.ended = 0;
        round(&s, i);
    }
    cr_expect_eq(s.wrong, 0, "%u boundaries are within a round", s.wrong);
    cr_expect_geq(s.right, e.rounds, "%u are right", s.right);
    cr_expect_eq(iteration_source(s.it), e.source, "source %d", iteration_source(s.it));
    cr_expect_eq(iteration_percent(s.it) > 0, e.source != ITERATION_NONE);
    if (e.ends)
        cr_expect_geq(s.ended, e.rounds, "%u end while the program is idle", s.ended);
    else
        cr_expect_eq(s.ended, 0, "%u end while the program is idle", s.ended);
    iteration_destroy(s.it);
}

/* ---- servers: the round ends where the program falls idle ------------------------------------ */

static void serve(struct shape *s, uint32_t i) {
    kernels(s, 0, 12);
    sync(s);
    round_begins(s);
    idle(s, 20 + i % 7);
}

Test(iteration_shapes, server_without_copies) {
    play(serve, (struct expected){ITERATION_GAP, 195, true});
}

static void serve_copies(struct shape *s, uint32_t i) {
    copy(s, TO_DEVICE);
    kernels(s, 0, 12);
    copy(s, TO_HOST);
    sync(s);
    copy_sync(s, TO_HOST); /* another result */
    round_begins(s);
    idle(s, 20 + i % 7);
}

Test(iteration_shapes, server_that_copies_in_and_out) {
    play(serve_copies, (struct expected){ITERATION_GAP, 195, true});
}

static void serve_copies_alone(struct shape *s, uint32_t i) {
    copy(s, TO_DEVICE);
    copy(s, ON_DEVICE);
    copy(s, TO_HOST);
    sync(s);
    round_begins(s);
    idle(s, 20 + i % 7);
}

/* A cache in device memory, for example: the program never launches a kernel. */
Test(iteration_shapes, server_that_only_copies) {
    launches_first = 0;
    play(serve_copies_alone, (struct expected){ITERATION_GAP, 195, true});
}

Test(iteration_shapes, server_that_only_copies_once_it_is_ready) {
    play(serve_copies_alone, (struct expected){ITERATION_GAP, 195, true});
}

static void serve_fills(struct shape *s, uint32_t i) {
    copy(s, ON_DEVICE);
    sync(s);
    round_begins(s);
    idle(s, 20 + i % 7);
}

Test(iteration_shapes, server_that_only_fills) {
    launches_first = 0;
    play(serve_fills, (struct expected){ITERATION_GAP, 195, true});
}

static void serve_two_streams(struct shape *s, uint32_t i) {
    copy(s, TO_DEVICE);
    kernels(s, 0, 6);
    copy(s, TO_DEVICE); /* concurrent copies */
    kernels(s, 6, 6);
    copy(s, ON_DEVICE);
    copy(s, TO_HOST);
    sync(s);
    round_begins(s);
    idle(s, 5 + i % 3);
}

Test(iteration_shapes, server_that_copies_on_a_second_stream) {
    play(serve_two_streams, (struct expected){ITERATION_GAP, 195, true});
}

/* One of three graphs, with a fill and a copy among their nodes. */
static void serve_graphs(struct shape *s, uint32_t i) {
    uint32_t graph = (i * 7919 >> 3) % 3;
    copy(s, ON_DEVICE);
    kernels(s, 100 * graph, 8 + graph);
    copy(s, ON_DEVICE);
    kernels(s, 100 * graph + 50, 4);
    sync(s);
    round_begins(s);
    idle(s, 10 + i % 4);
}

Test(iteration_shapes, server_that_launches_graphs) {
    play(serve_graphs, (struct expected){ITERATION_GAP, 190, true});
}

/* Four requests at once, then idle. The program is not idle within the burst. */
static void serve_bursts(struct shape *s, uint32_t i) {
    for (uint32_t k = 0; k < 4; k++) {
        copy(s, TO_DEVICE);
        kernels(s, 0, 12);
        copy(s, TO_HOST);
        sync(s);
        if (k < 3) s->now_ns += 20000;
    }
    round_begins(s);
    idle(s, 30 + i % 5);
}

Test(iteration_shapes, server_of_bursts) {
    play(serve_bursts, (struct expected){ITERATION_GAP, 190, true});
}

static void serve_two_models(struct shape *s, uint32_t i) {
    copy(s, TO_DEVICE);
    kernels(s, i % 2 ? 0 : 300, i % 2 ? 12 : 7);
    copy(s, TO_HOST);
    sync(s);
    round_begins(s);
    idle(s, 12 + i % 3);
}

Test(iteration_shapes, server_of_two_models_in_turn) {
    play(serve_two_models, (struct expected){ITERATION_GAP, 190, true});
}

/* ---- trainers: the round begins with its first operation ------------------------------------- */

static void train(struct shape *s, uint32_t i) {
    (void)i;
    round_begins(s);
    kernels(s, 0, 20);
    sync(s);
    s->now_ns += 50000;
}

Test(iteration_shapes, trainer_that_waits_for_each_step) {
    play(train, (struct expected){ITERATION_PERIOD, 195, false});
}

static void train_loss(struct shape *s, uint32_t i) {
    (void)i;
    round_begins(s);
    kernels(s, 0, 12);
    copy(s, TO_HOST);
    sync(s);
    s->now_ns += 200000;
    kernels(s, 12, 8);
}

Test(iteration_shapes, trainer_that_reads_its_loss_within_a_step) {
    play(train_loss, (struct expected){ITERATION_PERIOD, 195, false});
}

static void train_prefetch(struct shape *s, uint32_t i) {
    (void)i;
    round_begins(s);
    kernels(s, 0, 4);
    copy(s, TO_DEVICE); /* the next batch */
    kernels(s, 4, 16);
    sync(s);
}

Test(iteration_shapes, trainer_that_prefetches_on_a_second_stream) {
    play(train_prefetch, (struct expected){ITERATION_PERIOD, 195, false});
}

/* Every 20 steps the program writes a log for 30 ms. The idle job is then at its boundary at
 * once. */
static void train_logs(struct shape *s, uint32_t i) {
    if (s->operations++) round_begins(s);
    kernels(s, 0, 20);
    if (i % 20) return;
    copy(s, TO_HOST);
    sync(s);
    round_begins(s);
    uint32_t ended = s->ended;
    idle(s, 30);
    if (i > WARM_UP) cr_expect_eq(s->ended, ended + 1);
    s->operations = s->ended == ended;
    s->ended = 0;
}

Test(iteration_shapes, trainer_that_writes_a_log_now_and_then) {
    play(train_logs, (struct expected){ITERATION_PERIOD, 190, false});
}

static void train_validates(struct shape *s, uint32_t i) {
    round_begins(s);
    kernels(s, 0, 20);
    for (uint32_t k = 0; i % 25 == 24 && k < 10; k++) {
        round_begins(s); /* the exact place does not matter here */
        kernels(s, 400, 7);
        sync(s);
    }
}

Test(iteration_shapes, trainer_with_validation_phases) {
    play(train_validates, (struct expected){ITERATION_PERIOD, 170, false});
}

static void train_launches(struct shape *s, uint32_t i) {
    (void)i;
    round_begins(s);
    copy(s, ON_DEVICE);
    s->due = true;
    kernels(s, 0, 40);
}

Test(iteration_shapes, trainer_that_never_waits) {
    play(train_launches, (struct expected){ITERATION_PERIOD, 195, false});
}

static void train_pipeline(struct shape *s, uint32_t i) {
    (void)i;
    round_begins(s);
    for (uint32_t k = 0; k < 8; k++) { /* alternates between two streams */
        kernels(s, 10 * k, 2);
        kernels(s, 200 + 10 * k, 2);
        copy(s, ON_DEVICE);
    }
    sync(s);
}

Test(iteration_shapes, trainer_in_a_pipeline_of_two_streams) {
    play(train_pipeline, (struct expected){ITERATION_PERIOD, 195, false});
}

static void train_pause(struct shape *s, uint32_t i) {
    (void)i;
    round_begins(s);
    kernels(s, 0, 12);
    sync(s);
    if (i % 10 == 0) idle(s, 4); /* a busy machine: most waits here are short */
    kernels(s, 12, 8);
}

Test(iteration_shapes, trainer_that_pauses_within_some_steps) {
    play(train_pause, (struct expected){ITERATION_PERIOD, 190, false});
}

/* A server that is busy at first: its period is found while the program is never idle, in
 * another phase. */
static void serve_late(struct shape *s, uint32_t i) {
    static const uint32_t busy = 30;
    kernels(s, 5, 7);
    if (i >= busy) {
        sync(s);
        round_begins(s);
        idle(s, 10 + i % 3);
    }
    kernels(s, 0, 5);
}

Test(iteration_shapes, server_whose_phase_moves_to_the_gap) {
    play(serve_late, (struct expected){ITERATION_GAP, 190, true});
}
