/* SPDX-License-Identifier: Apache-2.0
 *
 * Clusters of some hundred GPUs with more jobs than fit. The searches skip most of the cluster and
 * most waiting jobs, and every decision must be the same as without skipping. The plain reference
 * (placeref.h) is for a dozen nodes.
 */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdlib.h>

#include "daemon/place/place.h"
#include "daemon/sim/base/prng.h"

#define NODES 48u
#define GPUS_A_NODE 8u
#define JOBS_MOST 40000u
#define STEPS 3000u
#define GIB ((uint64_t)1 << 30)
#define SECOND_NS 1000000000ll

struct cluster {
    struct place *p;
    uint64_t draws, names, digest, starts;
    int64_t waiting, most_waiting;
    int64_t now_ns;
    struct place_event events[64];
    struct place_job jobs[64];
    uint64_t running[JOBS_MOST];
    uint32_t count, running_count;
};

static uint32_t draw(struct cluster *c, uint32_t below) {
    return (uint32_t)(prng_at(5, 9, c->draws++) % below);
}

static void mix(struct cluster *c, uint64_t number) {
    c->digest = prng_mix(c->digest + number);
}

static void add_nodes(struct cluster *c) {
    struct place_gpu gpus[GPUS_A_NODE];
    struct place_answer a;
    for (uint32_t n = 0; n < NODES; n++) {
        for (uint32_t g = 0; g < GPUS_A_NODE; g++)
            gpus[g] = (struct place_gpu){.memory_bytes = (n % 3 ? 16 : 24) * GIB, .curve = n % 2};
        struct place_node node = {n + 1, 64000, 256 * GIB, 1 + n % 2, GPUS_A_NODE, gpus};
        struct place_event e = {.kind = PLACE_NODE, .node = &node};
        cr_assert_eq(place_step(c->p, 0, &e, 1, &a), 0);
    }
}

static struct place_job draw_job(struct cluster *c) {
    static const uint32_t gpus[] = {1, 1, 1, 1, 1, 1, 2, 4};
    bool service = draw(c, 2);
    return (struct place_job){.id = ++c->names,
                              .tasks = draw(c, 20) ? 1 : 3,
                              .gpus = gpus[draw(c, 8)],
                              .util = 0.001 * (1 + draw(c, service ? 400 : 1000)),
                              .persistent_bytes = (1 + draw(c, 4000)) * (GIB / 1000),
                              .ephemeral_bytes = draw(c, 6000) * (GIB / 1000),
                              .cpu_milli = 500 * draw(c, 6),
                              .memory_bytes = GIB * draw(c, 9),
                              .labels = draw(c, 6) ? 0 : 1 + draw(c, 2),
                              .kind = service ? PLACE_SERVICE : PLACE_TRAINING,
                              .slack = 0.1 * draw(c, 4),
                              .alone = !draw(c, 40)};
}

static struct place_event *happens(struct cluster *c, enum place_event_kind kind, uint64_t id) {
    struct place_event *e = &c->events[c->count++];
    *e = (struct place_event){.kind = kind, .id = id};
    return e;
}

static uint64_t any_running(struct cluster *c, bool ends) {
    uint32_t which = draw(c, c->running_count);
    uint64_t id = c->running[which];
    if (ends) c->running[which] = c->running[--c->running_count];
    return id;
}

/* Random events: jobs arrive, end, fail, want more memory, or are measured. */
static void happen(struct cluster *c) {
    c->count = 0;
    for (uint32_t n = draw(c, 6); n; n--) {
        struct place_job *job = &c->jobs[c->count];
        *job = draw_job(c);
        happens(c, PLACE_JOB, 0)->job = job;
        c->waiting++;
    }
    for (uint32_t n = draw(c, 4); n && c->running_count > 4; n--) {
        uint32_t what = draw(c, 8);
        uint64_t id = any_running(c, what != 2);
        if (what == 2) {
            struct place_event *e = happens(c, PLACE_MEASURED, id);
            e->util = 0.001 * (1 + draw(c, 900));
            e->speed = 1 + draw(c, 8);
        } else {
            happens(c, what > 1 ? PLACE_GONE : what ? PLACE_FAILED : PLACE_MEMORY, id);
        }
        c->waiting += what < 2;
    }
}

static void forget(struct cluster *c, uint64_t id) {
    for (uint32_t i = 0; i < c->running_count; i++)
        if (c->running[i] == id) c->running[i--] = c->running[--c->running_count];
}

/* A job that was stopped in the same step may be reported as failed: that event is invalid, and
 * changes nothing. */
static void take(struct cluster *c, const struct place_answer *a) {
    mix(c, a->wrong_count);
    for (size_t i = 0; i < a->action_count; i++) {
        const struct place_action *act = &a->actions[i];
        mix(c, act->id * 4 + act->kind);
        if (act->kind == PLACE_STOP) forget(c, act->id);
        c->waiting += act->kind == PLACE_STOP ? 1 : -1;
        for (uint32_t k = 0; k < act->count; k++)
            mix(c, act->where[k].node * 64 + act->where[k].gpu);
        if (act->kind != PLACE_START) continue;
        c->starts++;
        c->running[c->running_count++] = act->id;
    }
    if (c->waiting > c->most_waiting) c->most_waiting = c->waiting;
}

static uint64_t digest_of(const char *policy) {
    struct cluster *c = calloc(1, sizeof(*c));
    const struct place_config config = {.policy = policy,
                                        .memory = PLACE_MEMORY_LANES,
                                        .w_util = 2,
                                        .w_mem = 1,
                                        .curve_count = 2,
                                        .curves = {{1.16664, -0.00302, 4e-5}, {0, 1, 0}}};
    struct place_answer a;
    cr_assert(c);
    cr_assert_eq(place_create(&c->p, &config, NULL, 0), 0);
    add_nodes(c);
    for (uint32_t i = 0; i < STEPS; i++) {
        happen(c);
        cr_assert_eq(place_step(c->p, c->now_ns += SECOND_NS, c->events, c->count, &a), 0);
        take(c, &a);
        if (i % 250 == 0) cr_assert_null(place_check(c->p), "%s", place_check(c->p));
    }
    uint64_t digest = c->digest;
    cr_expect_gt(c->starts, 500, "%s", policy);
    cr_expect_gt(c->most_waiting, 100, "%s: %" PRId64, policy, c->most_waiting);
    place_destroy(c->p);
    free(c);
    return digest;
}

static const struct {
    const char *policy;
    uint64_t digest;
} golden[] = {
    {"horus", 0x8183cdda8c131f67},  {"horus_f", 0x95cb8f01079bf12f},
    {"fifo", 0x20036442b25bd603},   {"obp", 0xd37a0e75111a7c7b},
    {"pab", 0x26b130eb2fa245af},    {"best_fit", 0x8b053ebd33e8ecc},
    {"alone", 0x4414cd6c7ee32657},  {"separate", 0x34ceff3a37afb1f6},
    {"gslice", 0x5f2562691bf850df}, {"gpucolo", 0xf3908b3115f4a38a},
};

Test(place_golden, decisions_are_what_they_were) {
    for (size_t i = 0; i < sizeof(golden) / sizeof(*golden); i++) {
        uint64_t digest = digest_of(golden[i].policy);
        cr_expect_eq(digest, golden[i].digest, "%s: %#" PRIx64, golden[i].policy, digest);
    }
}
