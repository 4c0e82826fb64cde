/* SPDX-License-Identifier: Apache-2.0
 *
 * The cost of a Fluid plan: a group that joins, trials that end one by one, and a step in which all
 * running trials are replanned.
 *
 *   tune_bench [samples]
 */
#include <stdio.h>
#include <stdlib.h>

#include "common/fdutil.h"
#include "daemon/tune/salus_fluid.h"
#include "test/bench/lib/floor.h"

#define S 1000000000ll
#define GPUS 64u
#define MOST 4096u
#define PLAN_NS 1000000.0 /* the goal, for a thousand trials on 64 GPUs */

static const uint32_t crowds[] = {10, 100, 1000, MOST};

struct bench {
    struct salus_fluid *f;
    struct salus_fluid_event *events;
    struct salus_fluid_plan plan;
    uint64_t seed, next_id;
    int64_t now_ns;
    uint32_t n;
};

static int64_t draw_left(struct bench *b) {
    b->seed = b->seed * 6364136223846793005ull + 1442695040888963407ull;
    return S + (int64_t)((b->seed >> 33) % (100 * S));
}

static struct salus_fluid_event join(struct bench *b) {
    return (struct salus_fluid_event){.kind = SALUS_FLUID_JOIN,
                                      .id = ++b->next_id,
                                      .left_ns = draw_left(b),
                                      .alpha = 1.1,
                                      .beta = 1.05};
}

static void step(struct bench *b, uint32_t count) {
    if (salus_fluid_step(b->f, b->now_ns += S / 1000, b->events, count, &b->plan)) abort();
    if (b->plan.refused) abort();
}

static struct bench *create(uint32_t n, uint32_t flags) {
    struct bench *b = calloc(1, sizeof(*b));
    const struct salus_fluid_config config = {
        .gpus = GPUS, .packed_most = 4, .spread_most = 16, .flags = flags};
    if (!b || salus_fluid_create(&b->f, &config, NULL, 0)) abort();
    b->n = n;
    b->events = calloc(MOST, sizeof(*b->events));
    if (!b->events) abort();
    return b;
}

static void destroy(struct bench *b) {
    salus_fluid_destroy(b->f);
    free(b->events);
    free(b);
}

static void end_all(struct bench *b) {
    uint32_t count = b->plan.count;
    for (uint32_t i = 0; i < count; i++)
        b->events[i] =
            (struct salus_fluid_event){.kind = SALUS_FLUID_END, .id = b->plan.trials[i].id};
    step(b, count);
}

/* All trials join at once: StaticFluid and the plan. */
static double plan_group(void *arg) {
    struct bench *b = arg;
    for (uint32_t i = 0; i < b->n; i++)
        b->events[i] = join(b);
    uint64_t start = fdutil_now_ns();
    step(b, b->n);
    double ns = (double)(fdutil_now_ns() - start);
    end_all(b);
    return ns;
}

static void fill(struct bench *b) {
    while (b->plan.count < b->n) {
        uint32_t count = b->n - b->plan.count;
        for (uint32_t i = 0; i < count; i++)
            b->events[i] = join(b);
        step(b, count);
    }
}

/* Ends one of the running trials: plans all waiting trials again, or all running ones. */
static double one_ends(void *arg) {
    struct bench *b = arg;
    uint32_t running = 0;
    fill(b);
    while (b->plan.trials[running].state == SALUS_FLUID_WAITING)
        running++;
    b->events[0] =
        (struct salus_fluid_event){.kind = SALUS_FLUID_END, .id = b->plan.trials[running].id};
    uint64_t start = fdutil_now_ns();
    step(b, 1);
    return (double)(fdutil_now_ns() - start);
}

static const struct {
    const char *what;
    double (*measure)(void *);
    uint32_t flags;
} cases[] = {
    {"a group joins", plan_group, 0},
    {"a group joins, fractions", plan_group, SALUS_FLUID_FRACTIONS},
    {"a group joins, idle GPUs filled", plan_group, SALUS_FLUID_FILL},
    {"one ends", one_ends, 0},
};

static void run_case(uint32_t index, uint32_t n, int samples) {
    char name[96];
    struct floor_series s = {.name = name, .goal = n == 1000 ? PLAN_NS : 0, .goal_is_ns = true};
    snprintf(name, sizeof(name), "%s, %u trials, %u GPUs", cases[index].what, n, GPUS);
    struct bench *b = create(n, cases[index].flags);
    cases[index].measure(b);
    for (int i = 0; i < samples; i++)
        floor_sample(&s, cases[index].measure, b);
    floor_print(&s);
    floor_print_json("tune", &s);
    destroy(b);
}

int main(int argc, char **argv) {
    int samples = argc > 1 ? atoi(argv[1]) : 40;
    if (!floor_start()) {
        fprintf(stderr, "tune_bench: needs two CPUs\n");
        return 77;
    }
    if (samples > FLOOR_SAMPLES) samples = FLOOR_SAMPLES;
    floor_print_head("tune");
    for (uint32_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        for (uint32_t k = 0; k < sizeof(crowds) / sizeof(*crowds); k++)
            run_case(i, crowds[k], samples);
    floor_stop();
    return 0;
}
