/* SPDX-License-Identifier: Apache-2.0
 *
 * Each policy with random events, compared step by step with the plain reference: the same jobs on
 * the same GPUs at the same cost, and no job is lost. Results do not depend on names, and are the
 * same after a restart as without one.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "test/lib/place/placeworld.h"

#define SEEDS 4u /* or SALUS_TEST_SEEDS: check-long uses more seeds */
#define STEPS 600u

static uint64_t count_seeds(void) {
    const char *said = getenv("SALUS_TEST_SEEDS");
    return said ? strtoull(said, NULL, 10) : SEEDS;
}

static struct placeworld *create(const char *policy, uint64_t seed, uint64_t salt) {
    struct placeworld *w = calloc(1, sizeof(*w));
    cr_assert(w);
    placeworld_init(w, seed, policy, salt);
    return w;
}

static void destroy(struct placeworld *w) {
    placeworld_finish(w);
    free(w);
}

static void step(struct placeworld *w, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (!placeworld_step(w))
            cr_assert_fail("%s, seed %lu: %s", w->config.policy, (unsigned long)w->seed, w->broken);
}

static void run_worlds(uint32_t from, uint32_t to) {
    const char *const *policies = place_policies();
    uint64_t seeds = count_seeds();
    for (uint32_t i = from; i < to; i++) {
        uint64_t started = 0, stopped = 0, refused = 0, acted = 0;
        for (uint64_t seed = 1; seed <= seeds; seed++) {
            struct placeworld *w = create(policies[i], seed, seed);
            step(w, STEPS);
            started += w->started;
            stopped += w->stopped;
            refused += w->refused;
            for (uint32_t kind = 0; kind < PLACE_EVENTS; kind++)
                acted += w->acted[kind] > 0 && kind != PLACE_RUNS && kind != PLACE_TIME;
            destroy(w);
        }
        cr_expect_gt(started, 10 * seeds, "%s", policies[i]);
        cr_expect_gt(refused, seeds, "%s", policies[i]);
        cr_expect_eq(stopped > 0, !strcmp(policies[i], "pab"), "%s", policies[i]);
        cr_expect_gt(acted, 8 * seeds, "hardly any kind of event is missing");
    }
}

Test(place_world, horus_as_the_reference_does) {
    run_worlds(0, 2);
}

Test(place_world, others_as_the_reference_does) {
    run_worlds(2, 6);
}

Test(place_world, gpucolo_as_the_reference_does) {
    run_worlds(6, 10);
}

Test(place_world, names_decide_nothing) {
    for (const char *const *policy = place_policies(); *policy; policy++) {
        struct placeworld *a = create(*policy, 77, 1), *b = create(*policy, 77, 2);
        step(a, STEPS);
        step(b, STEPS);
        cr_expect_neq(a->jobs[0].job.id, b->jobs[0].job.id);
        cr_expect_eq(a->digest, b->digest, "%s", *policy);
        destroy(a);
        destroy(b);
    }
}

/* ---- a restart ------------------------------------------------------------------------------- */

static void tell(struct place *p, const struct placeworld *w, struct place_event e,
                 struct place_answer *answer) {
    cr_assert_eq(place_step(p, w->now_ns, &e, 1, answer), 0);
    cr_assert_eq(answer->wrong_count, 0, "%s", answer->wrong[0].why);
}

static void tell_nodes(struct place *p, const struct placeworld *w) {
    struct place_answer a;
    for (uint32_t i = 0; i < w->order_count; i++) {
        const struct placeworld_node *n = &w->nodes[w->order[i]];
        tell(p, w, (struct place_event){.kind = PLACE_NODE, .node = &n->node}, &a);
        if (n->shut)
            tell(p, w, (struct place_event){.kind = PLACE_NODE_SHUT, .id = n->node.id}, &a);
    }
}

static void tell_running(struct place *p, const struct placeworld *w) {
    struct place_answer a;
    for (uint32_t i = 0; i < PLACEREF_JOBS; i++) {
        const struct placeworld_job *j = &w->jobs[i];
        if (!j->told || !j->runs) continue;
        tell(p, w, (struct place_event){.kind = PLACE_RUNS, .job = &j->job, .where = j->where}, &a);
    }
}

static void expect_same_gpus(const struct place *p, const struct placeworld *w) {
    for (uint32_t i = 0; i < PLACEREF_NODES; i++)
        for (uint32_t g = 0; w->nodes[i].here && g < w->nodes[i].node.gpu_count; g++) {
            struct place_where at = {w->nodes[i].node.id, g};
            struct place_use a, b;
            cr_assert_eq(place_look(p, &at, &a) | place_look(w->p, &at, &b), 0);
            cr_expect(a.jobs == b.jobs && a.util == b.util && a.memory_bytes == b.memory_bytes &&
                      a.slowdown == b.slowdown);
        }
}

static const struct place_action *start_of(const struct place_answer *a) {
    return a->action_count && a->actions[0].kind == PLACE_START ? a->actions : NULL;
}

/* A new job is placed on the same GPUs in both, or neither starts it. An exception is a node
 * that is gone and may have been large enough, which only one of them knows. */
static void expect_same_choice(struct place *p, struct placeworld *w) {
    struct place_job job = placeworld_job(w);
    struct place_event e = {.kind = PLACE_JOB, .job = &job};
    struct place_answer a, b;
    tell(p, w, e, &a);
    tell(w->p, w, e, &b);
    const struct place_action *x = start_of(&a), *y = start_of(&b);
    cr_assert_eq(!x, !y);
    if (!x) return;
    cr_expect_eq(x->cost, y->cost);
    for (uint32_t k = 0; k < x->count; k++)
        cr_expect(x->where[k].node == y->where[k].node && x->where[k].gpu == y->where[k].gpu);
}

/* In these worlds nothing is measured and no job runs out of memory, so a restarted caller knows
 * all about a job. No job waits in either, and no node is kept. */
static void restart(const char *policy, uint64_t seed) {
    struct placeworld *w = create(policy, seed, seed);
    struct place_answer a;
    struct place *p;
    w->honest = w->gentle = true;
    step(w, 150);
    for (uint32_t i = 0; i < PLACEREF_JOBS; i++)
        if (w->jobs[i].told && !w->jobs[i].runs)
            tell(w->p, w, (struct place_event){.kind = PLACE_GONE, .id = w->jobs[i].job.id}, &a);
    cr_assert_eq(place_create(&p, &w->config, NULL, 0), 0);
    tell_nodes(p, w);
    tell_running(p, w);
    expect_same_gpus(p, w);
    for (uint32_t i = 0; i < 30; i++)
        expect_same_choice(p, w);
    expect_same_gpus(p, w);
    cr_expect_null(place_check(p), "%s", place_check(p));
    place_destroy(p);
    destroy(w);
}

Test(place_world, a_restart_changes_nothing) {
    static const char *const policies[] = {"horus", "obp", "best_fit", "gslice", "gpucolo"};
    for (uint32_t i = 0; i < sizeof(policies) / sizeof(*policies); i++)
        for (uint64_t seed = 100; seed < 130; seed++)
            restart(policies[i], seed);
}
