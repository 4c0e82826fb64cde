/* SPDX-License-Identifier: Apache-2.0
 *
 * The iteration detector on synthetic programs: each launches and allocates like a training loop or
 * a server, and records where its iterations really begin. test_iteration_data.c uses recordings of
 * real programs.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "daemon/worker/iteration/iteration.h"
#include "daemon/worker/kernel/object.h"

#define MIB (1ull << 20)

struct play {
    struct iteration *it;
    uint64_t live, now_ns;
    bool due; /* an iteration begins with the next launch */
    uint32_t launches, truths, found, right;
    /* launches since the latest true beginning: now; at the latest boundary found */
    uint32_t phase, found_phase;
    uint32_t steady; /* boundaries found, as far behind the truth as the one before */
    uint32_t inner;  /* boundaries found while more than the floor was alive before the launch */
    uint64_t floor, low;
    uint32_t random;
};

static struct play play_start(void) {
    struct play p = {.random = 1};
    cr_assert_eq(iteration_create(&p.it), 0);
    return p;
}

static uint32_t play_random(struct play *p, uint32_t below) {
    p->random ^= p->random << 13; /* xorshift, because an LCG's low bits have short periods */
    p->random ^= p->random >> 17;
    p->random ^= p->random << 5;
    return (p->random >> 3) % below;
}

static void alloc(struct play *p, uint64_t bytes) {
    p->live += bytes;
}

static void drop(struct play *p, uint64_t bytes) {
    p->live -= bytes;
    if (p->live < p->low) p->low = p->live;
    iteration_drop(p->it, p->live);
}

static bool launch(struct play *p, uint32_t func) {
    uint32_t grid[3] = {func % 7 + 1, 1, 1}, block[3] = {128, 1, 1};
    p->now_ns += 10000;
    p->launches++;
    bool got =
        iteration_launch(p->it, object_shape_fingerprint(func, grid, block), p->live, p->now_ns);
    p->truths += p->due;
    p->found += got;
    p->right += got && p->due;
    p->phase = p->due ? 0 : p->phase + 1;
    p->steady += got && p->phase == p->found_phase;
    if (got) p->found_phase = p->phase;
    p->inner += got && p->low > p->floor;
    p->low = p->live;
    p->due = false;
    return got;
}

static void launches(struct play *p, uint32_t first, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        launch(p, first + i);
}

static void begins(struct play *p) {
    p->due = true;
}

/* Ends the program: at least these fractions of found boundaries are right, and of right ones
 * are found. */
static void expect(struct play *p, const char *what, double precision, double recall) {
    double got_precision = p->found ? (double)p->right / p->found : 1;
    double got_recall = p->truths ? (double)p->right / p->truths : 1;
    printf("%-44s %7u launches %5u iterations: precision %.3f recall %.3f\n", what, p->launches,
           p->truths, got_precision, got_recall);
    cr_expect_geq(got_precision, precision, "%s: %u of %u found are right", what, p->right,
                  p->found);
    cr_expect_geq(got_recall, recall, "%s: %u of %u are found", what, p->right, p->truths);
    iteration_destroy(p->it);
}

/* ---- networks -------------------------------------------------------------------------------- */

/* `layers` times forward, keeping activations, then backward with gradients, which stay alive. */
static void batch(struct play *p, uint32_t first, uint32_t layers, uint64_t activation,
                  uint64_t gradient) {
    for (uint32_t i = 0; i < layers; i++) {
        alloc(p, activation);
        launches(p, first + 10 * i, 3);
    }
    launch(p, first + 1000);
    for (uint32_t i = layers; i-- > 0;) {
        alloc(p, gradient);
        launches(p, first + 10 * i + 3, 4);
        drop(p, activation);
    }
}

static void forward(struct play *p, uint32_t first, uint32_t layers, uint64_t activation) {
    for (uint32_t i = 0; i < layers; i++) {
        alloc(p, activation);
        launches(p, first + 10 * i, 3);
        if (i) drop(p, activation);
    }
    launch(p, first + 1001);
    drop(p, activation);
}

static void optimize(struct play *p, uint32_t first, uint32_t layers, uint64_t gradient) {
    for (uint32_t i = 0; i < layers; i++)
        launch(p, first + 2000 + i);
    drop(p, gradient * layers);
}

static void train(struct play *p, uint32_t first, uint32_t layers) {
    begins(p);
    batch(p, first, layers, 8 * MIB, MIB);
    optimize(p, first, layers, MIB);
}

Test(iteration, regular_training) {
    struct play p = play_start();
    launches(&p, 9000, 50);
    for (int i = 0; i < 100; i++)
        train(&p, 0, 6);
    cr_expect_eq(iteration_source(p.it), ITERATION_PERIOD);
    cr_expect_eq(iteration_period(p.it), 6 * 8 + 1);
    cr_expect_eq(p.inner, 0);
    expect(&p, "regular training", 1, 0.9);
}

Test(iteration, memory_that_never_changes) {
    struct play p = play_start();
    launches(&p, 9000, 50);
    for (int i = 0; i < 100; i++) {
        begins(&p);
        batch(&p, 0, 6, 0, 0);
        optimize(&p, 0, 6, 0);
    }
    expect(&p, "no temporaries", 1, 0.9);
}

/* A kernel for another learning rate sometimes replaces the usual one, and a log line is written
 * at times. */
Test(iteration, exceptions_within_iterations) {
    struct play p = play_start();
    for (int i = 0; i < 300; i++) {
        begins(&p);
        batch(&p, 0, 6, 8 * MIB, MIB);
        if (i % 17 == 16) launch(&p, 5000);
        launches(&p, 2000, 5);
        launch(&p, i % 23 == 22 ? 5001 : 2005);
        drop(&p, 6 * MIB);
    }
    expect(&p, "odd kernels now and then", 1, 0.85);
}

static void evaluate(struct play *p, uint32_t batches) {
    begins(p);
    for (uint32_t i = 0; i < batches; i++)
        forward(p, 0, 6, 8 * MIB);
}

Test(iteration, evaluation_now_and_then) {
    struct play p = play_start();
    for (int i = 0; i < 200; i++) {
        train(&p, 0, 6);
        if (i % 20 == 19) evaluate(&p, 10);
    }
    cr_expect_eq(p.inner, 0);
    expect(&p, "evaluation every 20 iterations", 1, 0.85);
}

/* An evaluation so long that the period is dropped, and learned again. */
Test(iteration, long_evaluation) {
    struct play p = play_start();
    for (int i = 0; i < 300; i++) {
        train(&p, 0, 6);
        if (i == 99 || i == 199) evaluate(&p, 5);
    }
    for (int i = 0; i < 2000; i++)
        launch(&p, 7000 + play_random(&p, 50));
    for (int i = 0; i < 100; i++)
        train(&p, 0, 6);
    expect(&p, "a long time of something else", 1, 0.9);
}

Test(iteration, another_network_for_good) {
    struct play p = play_start();
    for (int i = 0; i < 100; i++)
        train(&p, 0, 6);
    for (int i = 0; i < 200; i++)
        train(&p, 20000, 7);
    cr_expect_eq(iteration_period(p.it), 7 * 8 + 1);
    expect(&p, "another network from then on", 1, 0.85);
}

Test(iteration, two_networks_in_turn) {
    struct play p = play_start();
    for (int i = 0; i < 100; i++) {
        train(&p, 0, 4);
        batch(&p, 20000, 5, 4 * MIB, MIB);
        optimize(&p, 20000, 5, MIB);
    }
    cr_expect_eq(iteration_period(p.it), 4 * 8 + 1 + 5 * 8 + 1);
    cr_expect_eq(p.inner, 0);
    expect(&p, "two networks in turn", 1, 0.9);
}

/* ---- repetition within the iteration --------------------------------------------------------- */

static void accumulate(struct play *p, uint32_t parts, uint64_t activation, uint64_t gradient) {
    begins(p);
    for (uint32_t i = 0; i < parts; i++)
        batch(p, 0, 5, activation, i ? 0 : gradient);
    optimize(p, 0, 5, gradient);
}

Test(iteration, accumulation_with_gradients_as_temporaries) {
    const uint32_t parts[] = {2, 4, 8, 16, 23};
    for (int k = 0; k < 5; k++) {
        struct play p = play_start();
        launches(&p, 9000, 20);
        for (int i = 0; i < 60; i++)
            accumulate(&p, parts[k], 8 * MIB, MIB);
        cr_expect_eq(iteration_period(p.it), parts[k] * 36 + 5);
        cr_expect_eq(p.inner, 0);
        char what[64];
        snprintf(what, sizeof(what), "%u micro-batches, gradients freed", parts[k]);
        expect(&p, what, 1, 0.8);
    }
}

/* Longer than the window of the floor: corrected at the optimizer's first step. */
Test(iteration, accumulation_longer_than_the_window) {
    struct play p = play_start();
    for (int i = 0; i < 100; i++)
        accumulate(&p, 40, 8 * MIB, MIB);
    cr_expect_leq(p.inner, 60);
    cr_expect_eq(iteration_period(p.it), 40 * 36 + 5);
    expect(&p, "40 micro-batches, gradients freed", 0.5, 0.7);
}

/* Micro-batches differ from iterations only in that they are few. */
Test(iteration, accumulation_with_lasting_gradients) {
    for (uint32_t parts = 2; parts <= 8; parts *= 2)
        for (uint64_t activation = 0; activation <= MIB; activation += MIB) {
            struct play p = play_start();
            launches(&p, 9000, 20);
            for (int i = 0; i < 60; i++)
                accumulate(&p, parts, activation, 0);
            cr_expect_eq(iteration_period(p.it), parts * 36 + 5);
            char what[64];
            snprintf(what, sizeof(what), "%u micro-batches, %s", parts,
                     activation ? "lasting gradients" : "no temporaries");
            expect(&p, what, 1, 0.8);
        }
}

/* Identical layers, and an optimizer that goes through them. */
static void transformer(struct play *p, uint32_t layers, uint64_t activation, uint64_t gradient) {
    begins(p);
    launch(p, 1);
    for (uint32_t i = 0; i < layers; i++) {
        alloc(p, activation);
        launches(p, 10, 12);
    }
    launches(p, 30, 3);
    for (uint32_t i = 0; i < layers; i++) {
        alloc(p, gradient);
        launches(p, 50, 25);
        drop(p, activation);
    }
    for (uint32_t i = 0; i < layers; i++)
        launches(p, 100, 12);
    drop(p, gradient * layers);
}

Test(iteration, layers_are_no_iterations) {
    const uint32_t layers[] = {12, 24, 48, 80};
    for (int k = 0; k < 4; k++) {
        struct play p = play_start();
        for (int i = 0; i < 60; i++)
            transformer(&p, layers[k], 16 * MIB, MIB);
        cr_expect_eq(p.inner, 0);
        cr_expect_eq(iteration_period(p.it), layers[k] * 49 + 4);
        char what[64];
        snprintf(what, sizeof(what), "%u layers alike", layers[k]);
        expect(&p, what, 1, 0.8);
    }
}

Test(iteration, layers_without_any_temporaries) {
    struct play p = play_start();
    for (int i = 0; i < 100; i++)
        transformer(&p, 12, 0, 0);
    expect(&p, "12 layers alike, no temporaries", 1, 0.8);
    p = play_start();
    for (int i = 0; i < 400; i++)
        transformer(&p, 48, 0, 0);
    cr_expect_eq(iteration_period(p.it), 48 * 49 + 4);
    cr_expect_geq(p.steady, 350, "any phase will do, but one: %u", p.steady);
    expect(&p, "48 layers alike, no temporaries: steady", 0, 0);
}

/* ---- start and length ------------------------------------------------------------------------ */

/* Weights and the optimizer's state look like temporaries at first: the floor rises for good. */
Test(iteration, what_is_left_over_from_the_beginning) {
    struct play p = play_start();
    for (uint32_t i = 0; i < 30; i++) {
        alloc(&p, 4 * MIB);
        launch(&p, 9000 + i);
    }
    p.floor = 132 * MIB;
    train(&p, 0, 6);
    alloc(&p, 12 * MIB);
    for (int i = 0; i < 150; i++)
        train(&p, 0, 6);
    cr_expect_eq(p.inner, 0);
    expect(&p, "weights among the temporaries", 1, 0.75);
}

/* Input of the next iteration is alive at each boundary until it counts as persistent memory. */
Test(iteration, the_floor_may_fall) {
    struct play p = play_start();
    p.floor = 2 * MIB;
    alloc(&p, p.floor);
    for (int i = 0; i < 100; i++) {
        if (i == 50) drop(&p, p.floor);
        train(&p, 0, 6);
    }
    cr_expect_eq(p.inner, 0);
    /* 24 iterations, until the time with nothing alive has left the window */
    expect(&p, "a floor that falls", 1, 0.7);
}

Test(iteration, short_and_long_periods) {
    const uint32_t lengths[] = {2, 3, 17, 1000, 4095, 6000, 8184};
    for (int k = 0; k < 7; k++)
        for (int temporaries = 0; temporaries < 2; temporaries++) {
            struct play p = play_start();
            launches(&p, 100000, 77);
            for (uint32_t i = 0; i < 40 || i < 400 / lengths[k]; i++) {
                begins(&p);
                if (temporaries) alloc(&p, MIB);
                launches(&p, 0, lengths[k] - 1);
                if (temporaries) drop(&p, MIB);
                launch(&p, lengths[k]);
            }
            cr_expect_eq(iteration_period(p.it), lengths[k]);
            /* If the history is hardly longer than the period, the start of the period is
             * unknown. */
            if (!temporaries && lengths[k] > 8000) p.right = p.steady + 1;
            char what[64];
            snprintf(what, sizeof(what), "period %u%s", lengths[k],
                     temporaries ? "" : ", no temporaries");
            expect(&p, what, 1, lengths[k] > 20 ? 0.75 : 0.3);
        }
}

/* ---- random loops ---------------------------------------------------------------------------- */

struct loop_step {
    uint32_t func, repeat, body; /* the last `body` steps run `repeat` times in all */
    uint64_t alloc, drop;
};

/* A body of kernels, temporaries freed in reverse order, and nested loops. */
static uint32_t loop_make(struct play *p, struct loop_step *steps, bool temporaries) {
    uint32_t count = 4 + play_random(p, 60), kinds = 2 + play_random(p, 40), depth = 0;
    uint64_t held[8];
    for (uint32_t i = 0; i < count; i++) {
        struct loop_step *s = &steps[i];
        *s = (struct loop_step){.func = play_random(p, kinds), .repeat = 1};
        if (temporaries && depth < 8 && (i == 0 || play_random(p, 3) == 0))
            s->alloc = held[depth++] = 1 + play_random(p, 100) * 10000;
        else if (depth > 1 && play_random(p, 3) == 0)
            s->drop = held[--depth];
        else if (i > 4 && !s->alloc && play_random(p, 8) == 0)
            s->repeat = 2 + play_random(p, 6), s->body = 1 + play_random(p, 3);
    }
    steps[count] = (struct loop_step){.func = kinds, .repeat = 1};
    while (depth)
        steps[count].drop += held[--depth];
    return count + 1;
}

static void loop_run(struct play *p, const struct loop_step *steps, uint32_t count) {
    begins(p);
    for (uint32_t i = 0; i < count; i++) {
        alloc(p, steps[i].alloc);
        launch(p, steps[i].func);
        for (uint32_t n = 1; n < steps[i].repeat; n++)
            for (uint32_t k = i + 1 - steps[i].body; k <= i; k++)
                launch(p, steps[k].func);
        if (steps[i].drop) drop(p, steps[i].drop);
    }
}

/* Extra kernels run in one of `odd` iterations, so that the period must be found between them. */
static void random_loops(bool temporaries, uint32_t odd, double precision, double recall) {
    uint32_t found = 0, right = 0, truths = 0;
    for (uint32_t seed = 1; seed <= 300; seed++) {
        struct play p = play_start();
        struct loop_step steps[80];
        p.random = seed * 2654435761u;
        uint32_t count = loop_make(&p, steps, temporaries);
        for (int i = 0; i < 200; i++) {
            loop_run(&p, steps, count);
            if (odd && play_random(&p, odd) == 0) launches(&p, 500, 1 + play_random(&p, 9));
        }
        if (temporaries) cr_expect_eq(p.inner, 0, "seed %u: %u amid temporaries", seed, p.inner);
        found += p.found;
        right += p.right;
        truths += p.truths;
        iteration_destroy(p.it);
    }
    printf("random loops, temporaries %d, odd 1/%u: precision %.4f recall %.4f\n", temporaries, odd,
           (double)right / found, (double)right / truths);
    cr_expect_geq((double)right / found, precision);
    cr_expect_geq((double)right / truths, recall);
}

Test(iteration, random_loops_are_found) {
    random_loops(true, 0, 0.999, 0.9);
    random_loops(true, 20, 0.999, 0.85);
    random_loops(false, 0, 0.99, 0.9);
    random_loops(false, 20, 0.99, 0.8);
}

/* ---- no period ------------------------------------------------------------------------------- */

Test(iteration, random_kernels_have_none) {
    for (uint32_t kinds = 1; kinds <= 256; kinds *= 2)
        for (int temporaries = 0; temporaries < 2; temporaries++) {
            struct play p = play_start();
            for (int i = 0; i < 50000; i++) {
                if (temporaries && play_random(&p, 3) == 0) alloc(&p, MIB);
                if (temporaries && p.live && play_random(&p, 3) == 0) drop(&p, MIB);
                launch(&p, play_random(&p, kinds));
            }
            cr_expect_eq(p.found, 0, "%u of %u kernels", p.found, kinds);
            if (kinds > 1) cr_expect_eq(iteration_source(p.it), ITERATION_NONE);
            cr_expect_eq(iteration_period(p.it), 0);
            iteration_destroy(p.it);
        }
}

Test(iteration, ever_new_kernels_have_none) {
    struct play p = play_start();
    for (uint32_t i = 0; i < 200000; i++)
        cr_assert_not(launch(&p, i));
    iteration_destroy(p.it);
}

/* ---- marks and gaps -------------------------------------------------------------------------- */

Test(iteration, only_marks_count_once_there_is_one) {
    struct play p = play_start();
    cr_expect_not(iteration_mark(p.it, 0), "before the first launch");
    cr_expect_eq(iteration_source(p.it), ITERATION_MARK);
    for (int i = 0; i < 50; i++) {
        uint32_t found = p.found;
        train(&p, 0, 6);
        cr_expect_eq(p.found, found);
        cr_expect(iteration_mark(p.it, p.now_ns));
        cr_expect_eq(iteration_period(p.it), 49);
    }
    iteration_destroy(p.it);
    p = play_start();
    for (int i = 0; i < 50; i++)
        train(&p, 0, 6);
    uint32_t found = p.found;
    cr_expect_gt(found, 30);
    cr_expect(iteration_mark(p.it, p.now_ns));
    for (int i = 0; i < 50; i++)
        train(&p, 0, 6);
    cr_expect_eq(p.found, found);
    iteration_destroy(p.it);
}

/* A request of a random one of `kinds`, with `syncs` short waits within it. */
static void request(struct play *p, uint32_t kinds, uint32_t syncs) {
    uint32_t kind = play_random(p, kinds);
    begins(p);
    for (uint32_t i = 0; i <= syncs; i++) {
        forward(p, 3000 * kind + 100 * i, 3, MIB);
        iteration_idle(p->it, p->now_ns);
    }
    p->now_ns += play_random(p, 8) ? 2000000 + play_random(p, 20000000) : 1000;
}

Test(iteration, requests_between_idle_gaps) {
    for (uint32_t syncs = 0; syncs < 3; syncs++) {
        struct play p = play_start();
        for (int i = 0; i < 200; i++)
            request(&p, 5, syncs);
        cr_expect_eq(iteration_source(p.it), ITERATION_GAP);
        char what[64];
        snprintf(what, sizeof(what), "requests of five kinds, %u waits within", syncs);
        expect(&p, what, 1, 0.65); /* each kind must also be seen to begin once */
    }
    struct play p = play_start();
    for (int i = 0; i < 200; i++)
        request(&p, 1, 1);
    cr_expect_eq(iteration_source(p.it), ITERATION_GAP, "a gap goes before the period's phase");
    expect(&p, "requests of one kind", 1, 0.9);
}

/* Each request asks one of three networks for four answers: the answers are no requests. */
Test(iteration, steps_of_a_request_are_none) {
    for (uint32_t first = 0; first < 2; first++) {
        struct play p = play_start();
        for (int i = 0; i < 300; i++) {
            uint32_t kind = first && i < 20 ? 2 : play_random(&p, 3);
            begins(&p);
            for (uint32_t k = 0; k < (kind == 2 ? 4 : 1); k++) {
                forward(&p, 3000 * kind, 3 + kind, MIB);
                iteration_idle(p.it, p.now_ns);
            }
            p.now_ns += 2000000 + play_random(&p, 20000000);
        }
        expect(&p, first ? "four answers a request, all at first" : "four answers a request",
               first ? 0.75 : 1, 0.85);
    }
}

/* A busy machine: pauses of a millisecond and more between steps, one of half a second, and
 * requests that take long. */
Test(iteration, requests_on_a_busy_machine) {
    struct play p = play_start();
    for (int i = 0; i < 600; i++) {
        uint32_t kind = play_random(&p, 3);
        begins(&p);
        for (uint32_t k = 0; k < (kind == 2 ? 4 : 1); k++) {
            forward(&p, 3000 * kind, 3 + kind, MIB);
            p.now_ns += play_random(&p, i % 50 < 10 ? 60000000 : 8000000);
            iteration_idle(p.it, p.now_ns);
            p.now_ns += play_random(&p, 4) ? 0 : play_random(&p, 1800000);
        }
        p.now_ns += i == 30 ? 500000000 : 4000000 + play_random(&p, 20000000);
    }
    expect(&p, "requests on a busy machine", 0.99, 0.6);
}

/* The program reads the loss every 20 iterations, and takes time to log it. */
Test(iteration, a_log_now_and_then_is_no_request) {
    struct play p = play_start();
    for (int i = 0; i < 400; i++) {
        train(&p, 0, 6);
        if (i % 20) continue;
        iteration_idle(p.it, p.now_ns);
        p.now_ns += 5000000;
    }
    cr_expect_eq(iteration_source(p.it), ITERATION_PERIOD);
    expect(&p, "a log every 20 iterations", 1, 0.95);
}

/* The loss is read in the middle of each iteration, and the program takes time then. */
Test(iteration, waiting_within_an_iteration_is_no_gap) {
    struct play p = play_start();
    for (int i = 0; i < 200; i++) {
        launches(&p, 100 * play_random(&p, 50), 10 + play_random(&p, 10));
        alloc(&p, MIB);
        launches(&p, 100 * play_random(&p, 50), 10 + play_random(&p, 10));
        iteration_idle(p.it, p.now_ns);
        p.now_ns += 5000000;
        launches(&p, 100 * play_random(&p, 50), 10 + play_random(&p, 10));
        drop(&p, MIB);
    }
    cr_expect_eq(p.found, 0);
    iteration_destroy(p.it);
}

/* A busy machine: one wait in ten takes long. */
Test(iteration, a_long_pause_now_and_then_is_no_gap) {
    struct play p = play_start();
    for (int i = 0; i < 2000; i++) {
        launches(&p, 100 * play_random(&p, 50), 1 + play_random(&p, 20));
        iteration_idle(p.it, p.now_ns);
        if (play_random(&p, 10) == 0) p.now_ns += 20000000;
    }
    cr_expect_eq(p.found, 0);
    iteration_destroy(p.it);
}

/* A compiler tries new kernels, and the kernels it compares them with, on a machine so busy that
 * every pause is long. */
Test(iteration, trying_out_kernels_is_no_request) {
    struct play p = play_start();
    for (uint32_t i = 0; i < 600; i++) {
        launch(&p, i % 2 ? 1 : 10000 + i);
        iteration_idle(p.it, p.now_ns);
        p.now_ns += 2000000 + play_random(&p, 20000000);
    }
    cr_expect_eq(p.found, 0);
    cr_expect_eq(iteration_source(p.it), ITERATION_NONE);
    iteration_destroy(p.it);
}
