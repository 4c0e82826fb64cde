/* SPDX-License-Identifier: Apache-2.0
 *
 * Every allocation may fail: then nothing has changed, and repeating the step gives the normal
 * result.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>

#include "daemon/place/place.h"

#define GIB ((uint64_t)1 << 30)
#define NODES 3u
#define JOBS 40u

/* Wraps the library's allocations (--wrap). fail_in: which of the next fails, 1 for the first; 0:
 * none. */
static int fail_in, calls;

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);

static int fails(void) {
    calls++;
    return fail_in && !--fail_in;
}

void *__wrap_malloc(size_t bytes) {
    return fails() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes) {
    return fails() ? NULL : __real_calloc(count, bytes);
}

void *__wrap_realloc(void *old, size_t bytes) {
    return fails() ? NULL : __real_realloc(old, bytes);
}

static struct place *create(void) {
    const struct place_config config = {.policy = "horus_f"};
    struct place *p = NULL;
    int err, n = 0;
    do {
        fail_in = ++n;
        err = place_create(&p, &config, NULL, 0);
        fail_in = 0;
        cr_assert(err == 0 || (err == -ENOMEM && !p));
    } while (err);
    cr_expect_gt(n, 1);
    return p;
}

/* Returns a hash of the state of all GPUs. */
static uint64_t look(const struct place *p) {
    uint64_t sum = 0;
    for (uint64_t node = 1; node <= NODES; node++)
        for (uint32_t gpu = 0; gpu < 8; gpu++) {
            struct place_use use;
            sum *= 31;
            if (!place_look(p, &(struct place_where){node, gpu}, &use))
                sum += 1 + use.jobs + use.memory_bytes;
        }
    return sum;
}

static void expect_same(const struct place_answer *a, const struct place_answer *b) {
    cr_assert_eq(a->action_count, b->action_count);
    cr_expect_eq(a->wrong_count, b->wrong_count);
    for (size_t i = 0; i < a->action_count; i++) {
        const struct place_action *x = &a->actions[i], *y = &b->actions[i];
        cr_assert(x->kind == y->kind && x->id == y->id && x->count == y->count);
        for (uint32_t k = 0; k < x->count; k++)
            cr_expect(x->where[k].node == y->where[k].node && x->where[k].gpu == y->where[k].gpu);
    }
}

/* Repeats a step with each allocation failing in turn, beside a twin without failures. Arrays
 * that have grown keep their size, so first the first allocation fails, then each time the
 * second. Returns the number of allocations. */
static int step(struct place *p, struct place *twin, const struct place_event *events,
                size_t count) {
    struct place_answer a, b;
    uint64_t before = look(p);
    int failed = 0, err;
    do {
        fail_in = failed ? 2 : 1;
        err = place_step(p, 1, events, count, &a);
        fail_in = 0;
        failed += err != 0;
        cr_assert(err == 0 || err == -ENOMEM);
        cr_expect_null(place_check(p), "%s", place_check(p));
        if (err) cr_expect_eq(look(p), before);
    } while (err);
    cr_assert_eq(place_step(twin, 1, events, count, &b), 0);
    expect_same(&a, &b);
    cr_expect_eq(look(p), look(twin));
    return failed;
}

static int step_one(struct place *p, struct place *twin, struct place_event e) {
    return step(p, twin, &e, 1);
}

static int tell_nodes(struct place *p, struct place *twin) {
    struct place_gpu gpus[8];
    int failed = 0;
    for (uint32_t g = 0; g < 8; g++)
        gpus[g] = (struct place_gpu){.memory_bytes = (8 + g) * GIB};
    for (uint64_t id = 1; id <= NODES; id++) {
        const struct place_node node = {id, 64000, 512 * GIB, id, 8, gpus};
        failed += step_one(p, twin, (struct place_event){.kind = PLACE_NODE, .node = &node});
    }
    return failed;
}

static int tell_jobs(struct place *p, struct place *twin, uint64_t first) {
    struct place_event events[JOBS];
    struct place_job jobs[JOBS];
    for (uint32_t i = 0; i < JOBS; i++) {
        jobs[i] = (struct place_job){.id = first + i,
                                     .tasks = 1 + i % 5,
                                     .gpus = 1 + i % 2,
                                     .util = 0.02 * (1 + i),
                                     .persistent_bytes = GIB * (1 + i % 9)};
        events[i] = (struct place_event){.kind = PLACE_JOB, .job = &jobs[i]};
    }
    return step(p, twin, events, JOBS);
}

Test(place_memory, a_step_without_memory_is_none) {
    struct place *p = create(), *twin = create();
    const struct place_where where = {1, 7};
    const struct place_job job = {.id = 9999, .tasks = 1, .gpus = 1, .util = 1};
    int failed = tell_nodes(p, twin);
    cr_expect_gt(failed, 8, "%d", failed);
    failed = tell_jobs(p, twin, 1000);
    cr_expect_gt(failed, 8, "%d", failed);
    failed = tell_jobs(p, twin, 2000) + tell_jobs(p, twin, 3000);
    cr_expect_gt(failed, 8, "%d", failed);
    step_one(p, twin, (struct place_event){.kind = PLACE_RUNS, .job = &job, .where = &where});
    step_one(p, twin, (struct place_event){.kind = PLACE_NODE_GONE, .id = 2});
    place_destroy(p);
    place_destroy(twin);
    place_destroy(NULL);
}

/* A placer that has had memory for that many jobs allocates no more. */
Test(place_memory, a_steady_state_allocates_nothing) {
    struct place *p = create(), *twin = create();
    struct place_answer a;
    tell_nodes(p, twin);
    tell_jobs(p, twin, 1000);
    calls = 0;
    for (uint64_t i = 0; i < 200; i++) {
        struct place_job job = {.id = 5000 + i, .tasks = 1, .gpus = 1, .util = 0.1};
        const struct place_event events[] = {
            {.kind = PLACE_GONE, .id = i < 40 ? 1000 + i : 5000 + i - 40},
            {.kind = PLACE_JOB, .job = &job},
        };
        int before = calls, err = place_step(p, 100, events, 2, &a), after = calls;
        cr_assert_eq(err, 0);
        cr_assert_eq(a.wrong_count, 0);
        cr_assert_eq(before, after, "step %lu", (unsigned long)i);
    }
    place_destroy(p);
    place_destroy(twin);
}
