/* SPDX-License-Identifier: Apache-2.0
 *
 * The cost of a scheduler decision, with 1,000 jobs attached: for an operation, with 100,000
 * operations queued; for an iteration, when every operation is one and the lanes are full of jobs
 * that want the turn, under each lane policy; for a kernel of a high-priority job and four
 * best-effort ones, under each kernel policy; for a kernel under slack, with requests of known
 * kernels and up to 999 best-effort jobs. Invariant checks are compiled out.
 *
 *   sched_bench [samples [part of a name]]
 */
#include <stdio.h>
#include <stdlib.h>

#include "common/fdutil.h"
#include "daemon/sched/core/life.h"
#include "daemon/sched/core/step.h"
#include "daemon/sched/policy/lane_policy.h"
#include "daemon/sched/policy/policy.h"
#include "daemon/sched/sched.h"
#include "test/bench/lib/floor.h"

#define JOBS 1000u
#define QUEUED 100u /* pending operations of each job */
#define BATCH 64u   /* events of a kind in a step, as in a busy worker */
#define ROUNDS 2000u
#define GOAL_NS 70.0

#define RING 4096u

#define FEW 5u /* jobs that share a device by kernel policies */

/* Kernels of both classes; some are too large to run next to a high-priority one. */
static const struct sched_kernel kernels[] = {
    {.mean_ns = 1000, .tail_ns = 1100, .sms = 20, .class = SCHED_CLASS_COMPUTE},
    {.mean_ns = 1000, .tail_ns = 1100, .sms = 40, .class = SCHED_CLASS_MEMORY},
    {.mean_ns = 1000, .tail_ns = 1100, .sms = 100, .class = SCHED_CLASS_MEMORY},
};

/* The goals under slack, by number of jobs. */
static const struct {
    uint32_t jobs;
    double goal_ns;
} crowds[] = {{5, 150}, {100, 300}, {1000, 300}};

#define STEPS 16u /* kernels of a request; the pause after it lasts as many steps */

struct bench {
    struct sched *s;
    uint64_t now_ns, next_op;
    uint32_t iteration[JOBS];
    struct sched_action running[RING];
    uint32_t first, running_count; /* kernels on the device, as a ring buffer */
    /* ended: completed kernels of the request; pause: steps until the next request */
    uint32_t jobs, ended, pause;
};

static const struct sched_kernel copied = {.class = SCHED_CLASS_COPY};

/* Fills the event in place, as the worker does. */
static void set_done(struct sched_event *e, const struct sched_action *ran) {
    e->kind = SCHED_DONE;
    e->job = ran->job;
    e->done.op = ran->op;
    e->done.busy_ns = 1000;
}

static void set_submitted(struct sched_event *e, uint32_t job, uint64_t op, uint32_t iteration,
                          const struct sched_kernel *kernel) {
    e->kind = SCHED_SUBMITTED;
    e->job = job;
    e->submitted.op = op;
    e->submitted.iteration = iteration;
    e->submitted.kernel = *kernel;
}

static void step(struct bench *b, const struct sched_event *events, uint32_t count) {
    struct sched_actions out;
    if (sched_step(b->s, b->now_ns += 1000, events, count, &out)) abort();
    b->running_count = 0;
    for (uint32_t i = 0; i < out.count; i++)
        if (out.items[i].kind == SCHED_RUN && b->running_count < BATCH)
            b->running[b->running_count++] = out.items[i];
}

/* `lanes` 0: each job has a lane of its own, without memory. */
static struct bench *create_full(const char *policy, uint32_t lanes, uint32_t queued) {
    struct bench *b = calloc(1, sizeof(*b));
    struct sched_config config = {.policy = {.exclusive = 0, .swap = -1, .inflight_cap = 1},
                                  .capacity_bytes = JOBS + lanes * JOBS,
                                  .chunk_bytes = 1};
    snprintf(config.policy.lane, POLICY_NAME_BYTES, "%s", policy);
    if (!b || sched_create(&b->s, &config, NULL, 0)) abort();
    for (uint32_t i = 0; i < JOBS; i++) {
        struct sched_spec spec = {
            .persistent_bytes = 1, .ephemeral_bytes = lanes ? JOBS : 0, .iterations = 1u << 30};
        struct sched_event e = {.kind = SCHED_JOINED, .job = i + 1, .spec = spec};
        step(b, &e, 1);
    }
    for (uint32_t k = 0; k < queued; k++)
        for (uint32_t i = 0; i < JOBS; i++) {
            struct sched_event e;
            struct sched_actions out;
            set_submitted(&e, i + 1, ++b->next_op, 0, &copied);
            if (sched_step(b->s, b->now_ns, &e, 1, &out)) abort();
            for (uint32_t a = 0; a < out.count; a++)
                if (out.items[a].kind == SCHED_RUN && b->running_count < BATCH)
                    b->running[b->running_count++] = out.items[a];
        }
    return b;
}

static void destroy(struct bench *b) {
    sched_destroy(b->s);
    free(b);
}

/* A batch of operations completes, as many are submitted, as many start. */
static double measure_ops(void *arg) {
    struct bench *b = arg;
    uint64_t start = fdutil_now_ns(), ran = 0;
    for (uint32_t r = 0; r < ROUNDS; r++) {
        struct sched_event events[2 * BATCH];
        uint32_t n = b->running_count;
        for (uint32_t i = 0; i < n; i++) {
            set_done(&events[i], &b->running[i]);
            set_submitted(&events[n + i], b->running[i].job, ++b->next_op, 0, &copied);
        }
        step(b, events, 2 * n);
        ran += n;
    }
    return (double)(fdutil_now_ns() - start) / (double)ran;
}

/* The same, where every operation is the last of its iteration. */
static double measure_iterations(void *arg) {
    struct bench *b = arg;
    uint64_t start = fdutil_now_ns(), ran = 0;
    for (uint32_t r = 0; r < ROUNDS; r++) {
        struct sched_event events[3 * BATCH];
        uint32_t n = b->running_count;
        for (uint32_t i = 0; i < n; i++) {
            uint32_t job = b->running[i].job;
            struct sched_event *e = &events[n + i];
            set_done(&events[i], &b->running[i]);
            e->kind = SCHED_BOUNDARY;
            e->job = job;
            set_submitted(&events[2 * n + i], job, ++b->next_op, ++b->iteration[job - 1], &copied);
        }
        step(b, events, 3 * n);
        ran += n;
    }
    return (double)(fdutil_now_ns() - start) / (double)ran;
}

static void take_ran(struct bench *b, const struct sched_actions *out) {
    for (uint32_t i = 0; i < out->count; i++)
        if (out->items[i].kind == SCHED_RUN && b->running_count < RING)
            b->running[(b->first + b->running_count++) % RING] = out->items[i];
}

/* A job with priority and four without, each with kernels queued. */
static struct bench *bench_create_few(const char *policy) {
    struct bench *b = calloc(1, sizeof(*b));
    struct sched_config config = {.policy = {.lane = "pack",
                                             .exclusive = -1,
                                             .swap = -1,
                                             .priorities = -1,
                                             .by_class = -1,
                                             .by_size = -1,
                                             .dur_threshold = 1000}};
    snprintf(config.policy.kernel, POLICY_NAME_BYTES, "%s", policy);
    if (!b || sched_create(&b->s, &config, NULL, 0)) abort();
    for (uint32_t i = 0; i < FEW; i++) {
        struct sched_spec spec = {.priority = i == 0, .request_ns = 1000000};
        struct sched_event e = {.kind = SCHED_JOINED, .job = i + 1, .spec = spec};
        step(b, &e, 1);
    }
    for (uint32_t k = 0; k < QUEUED * FEW; k++) {
        struct sched_event e;
        struct sched_actions out;
        set_submitted(&e, k % FEW + 1, ++b->next_op, 0, &kernels[k % 3]);
        if (sched_step(b->s, b->now_ns, &e, 1, &out)) abort();
        take_ran(b, &out);
    }
    return b;
}

/* A kernel completes, its job submits another, and kernels that may start do: one step each, as
 * in a worker that is not busy. */
static double measure_kernels(void *arg) {
    struct bench *b = arg;
    uint64_t start = fdutil_now_ns(), ran = 0;
    for (uint32_t r = 0; r < ROUNDS * 16; r++) {
        if (b->running_count == 0) abort();
        /* in nearly the order of launches, as on real devices */
        struct sched_action done = b->running[b->first % RING];
        struct sched_event events[2];
        set_done(&events[0], &done);
        set_submitted(&events[1], done.job, ++b->next_op, 0, &kernels[r % 3]);
        struct sched_actions out;
        b->first++;
        b->running_count--;
        if (sched_step(b->s, b->now_ns += 1000, events, 2, &out)) abort();
        take_ran(b, &out);
        ran++;
    }
    return (double)(fdutil_now_ns() - start) / (double)ran;
}

/* The same when kernels are submitted and complete faster than steps are made, as in a busy
 * worker. */
static double measure_eights(void *arg) {
    struct bench *b = arg;
    uint64_t start = fdutil_now_ns(), ran = 0;
    for (uint32_t r = 0; r < ROUNDS * 2; r++) {
        struct sched_event events[16];
        uint32_t n = b->running_count < 8 ? b->running_count : 8;
        for (uint32_t i = 0; i < n; i++) {
            struct sched_action done = b->running[b->first++ % RING];
            set_done(&events[i], &done);
            set_submitted(&events[n + i], done.job, ++b->next_op, 0, &kernels[i % 3]);
        }
        b->running_count -= n;
        struct sched_actions out;
        if (n == 0 || sched_step(b->s, b->now_ns += 1000, events, 2 * n, &out)) abort();
        take_ran(b, &out);
        ran += n;
    }
    return (double)(fdutil_now_ns() - start) / (double)ran;
}

/* ---- slack with requests of known kernels
 * ----------------------------------------------------- */

static void step_crowd(struct bench *b, const struct sched_event *events, uint32_t count) {
    struct sched_actions out;
    if (sched_step(b->s, b->now_ns += 1000, events, count, &out)) abort();
    take_ran(b, &out);
}

static struct bench *create_crowd(uint32_t jobs) {
    struct bench *b = calloc(1, sizeof(*b));
    struct sched_config config = {.policy = {.lane = "pack",
                                             .kernel = "slack",
                                             .exclusive = -1,
                                             .swap = -1,
                                             .priorities = -1,
                                             .by_class = -1,
                                             .by_size = -1,
                                             .foresee = -1}};
    if (!b || sched_create(&b->s, &config, NULL, 0)) abort();
    b->jobs = jobs;
    for (uint32_t i = 0; i < jobs; i++) {
        struct sched_spec spec = {.priority = i == 0, .request_ns = 1000000};
        struct sched_event e = {.kind = SCHED_JOINED, .job = i + 1, .spec = spec};
        step_crowd(b, &e, 1);
    }
    for (uint32_t i = 1; i < jobs; i++)
        for (uint32_t k = 0; k < 2; k++) {
            struct sched_event e;
            set_submitted(&e, i + 1, ++b->next_op, 0, &kernels[(i + k) % 3]);
            step_crowd(b, &e, 1);
        }
    b->pause = 1;
    return b;
}

static uint32_t begin_request(struct bench *b, struct sched_event *events) {
    for (uint32_t k = 0; k < STEPS; k++)
        set_submitted(&events[k], 1, ++b->next_op, b->iteration[0], &kernels[k % 2]);
    return STEPS;
}

/* The oldest kernel on the device completes: a best-effort job submits another; a complete
 * request is followed by another after a pause. */
static double measure_crowd(void *arg) {
    struct bench *b = arg;
    uint64_t start = fdutil_now_ns(), ran = 0;
    for (uint32_t r = 0; r < ROUNDS * 16; r++) {
        struct sched_event events[2 + STEPS];
        uint32_t count = 0;
        if (b->running_count) {
            struct sched_action done = b->running[b->first++ % RING];
            b->running_count--;
            set_done(&events[count++], &done);
            ran++;
            if (done.job == 1 && ++b->ended == STEPS) {
                events[count++] = (struct sched_event){.kind = SCHED_BOUNDARY, .job = 1};
                b->iteration[0]++;
                b->ended = 0;
                b->pause = STEPS;
            } else if (done.job > 1)
                set_submitted(&events[count++], done.job, ++b->next_op, 0, &kernels[r % 3]);
        }
        if (b->pause && --b->pause == 0) count += begin_request(b, events + count);
        step_crowd(b, events, count);
    }
    return (double)(fdutil_now_ns() - start) / (double)ran;
}

static int run_case(const char *name, double goal_ns, double (*measure)(void *), struct bench *b,
                    int samples) {
    struct floor_series s = {.name = name, .goal = goal_ns, .goal_is_ns = true};
    measure(b);
    for (int i = 0; i < samples; i++)
        floor_sample(&s, measure, b);
    int missed = floor_print(&s);
    floor_print_json("sched", &s);
    destroy(b);
    return missed;
}

int main(int argc, char **argv) {
    int samples = argc > 1 ? atoi(argv[1]) : 60;
    char name[64];
    if (!floor_start()) {
        fprintf(stderr, "sched_bench: needs two CPUs\n");
        return 77;
    }
    if (samples > FLOOR_SAMPLES) samples = FLOOR_SAMPLES;
    floor_print_head("sched");
    run_case("an operation of 1,000 jobs, 100,000 queued", GOAL_NS, measure_ops,
             create_full("fair", 0, QUEUED), samples);
    for (uint32_t i = 0; lane_policy_at(i); i++) {
        const char *policy = lane_policy_at(i)->name;
        snprintf(name, sizeof(name), "an iteration of 1,000 jobs in 20 lanes, %s", policy);
        run_case(name, GOAL_NS, measure_iterations, create_full(policy, 20, 1), samples);
    }
    for (uint32_t i = 0; policy_at(i); i++) {
        const char *policy = policy_at(i)->name;
        snprintf(name, sizeof(name), "a kernel of five jobs, %s", policy);
        run_case(name, GOAL_NS, measure_kernels, bench_create_few(policy), samples);
        snprintf(name, sizeof(name), "the same, eight a step, %s", policy);
        run_case(name, GOAL_NS, measure_eights, bench_create_few(policy), samples);
    }
    for (uint32_t i = 0; i < sizeof(crowds) / sizeof(*crowds); i++) {
        snprintf(name, sizeof(name), "a kernel of %u jobs, slack, requests known", crowds[i].jobs);
        run_case(name, crowds[i].goal_ns, measure_crowd, create_crowd(crowds[i].jobs), samples);
    }
    floor_stop();
    return 0;
}
