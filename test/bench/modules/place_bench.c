/* SPDX-License-Identifier: Apache-2.0
 *
 * The cost of a placement decision: a queue of jobs onto an empty cluster; jobs that end on a full
 * one with that queue waiting; and one job that arrives at a completely full cluster.
 *
 *   place_bench [samples]
 */
#include <stdio.h>
#include <stdlib.h>

#include "common/fdutil.h"
#include "daemon/place/place.h"
#include "test/bench/lib/floor.h"

#define GPUS_A_NODE 8u
#define QUEUE 1000u
#define RUNNING_MOST 65536u
#define GIB ((uint64_t)1 << 30)
#define DECISION_NS 1e7 /* the goal, for a thousand jobs on a thousand GPUs */
#define SECOND_NS 1000000000ll

static const uint32_t clusters[] = {1000, 10000};

struct bench {
    struct place *p;
    uint32_t gpus;
    uint64_t seed, names;
    int64_t now_ns;
    struct place_event *events;
    struct place_job *jobs;
    uint64_t running[RUNNING_MOST];
    uint32_t running_count;
};

static uint32_t draw(struct bench *b, uint32_t below) {
    b->seed = b->seed * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(b->seed >> 33) % below;
}

static void step(struct bench *b, uint32_t count) {
    struct place_answer a;
    if (place_step(b->p, b->now_ns += SECOND_NS, b->events, count, &a) || a.wrong_count) abort();
    for (size_t i = 0; i < a.action_count; i++)
        if (a.actions[i].kind == PLACE_START && b->running_count < RUNNING_MOST)
            b->running[b->running_count++] = a.actions[i].id;
}

/* Adds jobs: half of them need one GPU, some have four tasks; hardly two are alike. */
static void come(struct bench *b, uint32_t count) {
    static const uint32_t gpus[] = {1, 1, 1, 1, 1, 2, 4, 8};
    for (uint32_t i = 0; i < count; i++) {
        b->jobs[i] = (struct place_job){.id = ++b->names,
                                        .tasks = draw(b, 20) ? 1 : 4,
                                        .gpus = gpus[draw(b, 8)],
                                        .util = 0.05 + 0.001 * draw(b, 900),
                                        .persistent_bytes = GIB + draw(b, 10000) * (GIB / 1000),
                                        .cpu_milli = 1000 + draw(b, 8000),
                                        .memory_bytes = GIB * (1 + draw(b, 30)),
                                        .kind = draw(b, 2) ? PLACE_SERVICE : PLACE_TRAINING,
                                        .slack = 0.1};
        b->events[i] = (struct place_event){.kind = PLACE_JOB, .job = &b->jobs[i]};
    }
}

/* Ends some of the running jobs, chosen at random. */
static uint32_t end(struct bench *b, uint32_t count) {
    if (count > b->running_count) count = b->running_count;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t which = draw(b, b->running_count);
        b->events[i] = (struct place_event){.kind = PLACE_GONE, .id = b->running[which]};
        b->running[which] = b->running[--b->running_count];
    }
    return count;
}

static struct bench *create(uint32_t gpus, const char *policy) {
    struct bench *b = calloc(1, sizeof(*b));
    const struct place_config config = {.policy = policy};
    struct place_gpu models[GPUS_A_NODE];
    if (!b || place_create(&b->p, &config, NULL, 0)) abort();
    b->events = calloc(RUNNING_MOST, sizeof(*b->events));
    b->jobs = calloc(RUNNING_MOST, sizeof(*b->jobs));
    if (!b->events || !b->jobs) abort();
    for (uint32_t g = 0; g < GPUS_A_NODE; g++)
        models[g] = (struct place_gpu){.memory_bytes = 24 * GIB};
    for (b->gpus = 0; b->gpus < gpus; b->gpus += GPUS_A_NODE) {
        struct place_node node = {b->gpus, 96000, 512 * GIB, 0, GPUS_A_NODE, models};
        b->events[0] = (struct place_event){.kind = PLACE_NODE, .node = &node};
        step(b, 1);
    }
    return b;
}

static void destroy(struct bench *b) {
    place_destroy(b->p);
    free(b->events);
    free(b->jobs);
    free(b);
}

static double timed(struct bench *b, uint32_t count) {
    uint64_t start = fdutil_now_ns();
    step(b, count);
    return (double)(fdutil_now_ns() - start);
}

/* Removes all jobs of the queue, running or waiting. */
static void empty(struct bench *b) {
    for (uint32_t i = 0; i < QUEUE; i++)
        b->events[i] = (struct place_event){.kind = PLACE_GONE, .id = b->names - i};
    step(b, QUEUE);
    b->running_count = 0;
}

static double queue_comes(void *arg) {
    struct bench *b = arg;
    come(b, QUEUE);
    double ns = timed(b, QUEUE);
    empty(b);
    return ns;
}

/* Fills the cluster: the whole queue waits, and no other job fits. */
static void fill(struct bench *b) {
    if (b->running_count) return;
    for (uint32_t told = 0; told < 4 * b->gpus; told += QUEUE) {
        come(b, QUEUE);
        step(b, QUEUE);
    }
}

/* A hundredth of the jobs end, and all waiting jobs are tried. */
static double some_end(void *arg) {
    struct bench *b = arg;
    fill(b);
    return timed(b, end(b, b->running_count / 100 + 1));
}

static double one_comes(void *arg) {
    struct bench *b = arg;
    fill(b);
    come(b, 1);
    double ns = timed(b, 1);
    b->events[0] = (struct place_event){.kind = PLACE_GONE, .id = b->names};
    step(b, 1);
    if (b->running_count && b->running[b->running_count - 1] == b->names) b->running_count--;
    return ns;
}

static const struct {
    const char *what;
    double (*measure)(void *);
} cases[] = {{"a queue comes", queue_comes}, {"some end", some_end}, {"one comes", one_comes}};

static void run_case(const char *policy, uint32_t index, uint32_t gpus, int samples) {
    char name[96];
    struct floor_series s = {
        .name = name, .goal = gpus == 1000 && !index ? DECISION_NS : 0, .goal_is_ns = true};
    snprintf(name, sizeof(name), "%s, %s, %u GPUs", policy, cases[index].what, gpus);
    struct bench *b = create(gpus, policy);
    cases[index].measure(b);
    for (int i = 0; i < samples; i++)
        floor_sample(&s, cases[index].measure, b);
    floor_print(&s);
    floor_print_json("place", &s);
    destroy(b);
}

int main(int argc, char **argv) {
    int samples = argc > 1 ? atoi(argv[1]) : 20;
    if (!floor_start()) {
        fprintf(stderr, "place_bench: needs two CPUs\n");
        return 77;
    }
    if (samples > FLOOR_SAMPLES) samples = FLOOR_SAMPLES;
    floor_print_head("place");
    for (const char *const *policy = place_policies(); *policy; policy++)
        for (uint32_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
            for (uint32_t k = 0; k < sizeof(clusters) / sizeof(*clusters); k++)
                run_case(*policy, i, clusters[k], samples);
    floor_stop();
    return 0;
}
