/* SPDX-License-Identifier: Apache-2.0
 *
 * Predicts delays by walking along the request's expected kernels.
 */
#include "daemon/sched/policy/forecast.h"

#include <stdlib.h>

#include "daemon/sched/policy/contention.h"

/* ---- the sequence --------------------------------------------------------------------------- */

bool forecast_memory(struct forecast *f, memory_visit *visit, void *arg) {
    return visit(arg, (void **)&f->steps, f->cap * sizeof(*f->steps));
}

/* Grows the sequence. Without memory the remaining kernels of the request are not recorded. */
static bool grow(struct forecast *f) {
    if (f->began < f->cap) return true;
    if (f->cap == FORECAST_STEPS) return false;
    uint32_t cap = f->cap ? 2 * f->cap : 256;
    struct forecast_use *grown = realloc(f->steps, cap * sizeof(*grown));
    if (!grown) return false;
    f->steps = grown;
    f->cap = cap;
    return true;
}

void forecast_began(struct forecast *f, uint64_t now_ns, struct forecast_use use) {
    if (f->began == f->ended) f->since_ns = now_ns;
    if (grow(f)) f->steps[f->began] = use;
    f->began++;
}

void forecast_ended(struct forecast *f, uint64_t now_ns) {
    f->ended++;
    f->since_ns = now_ns;
}

void forecast_over(struct forecast *f) {
    f->count = f->began < f->cap ? f->began : f->cap;
    f->began = f->ended = 0;
}

/* ---- delays --------------------------------------------------------------------------------- */

/* Speed, in thousandths, of a kernel that uses `use` of a unit while others use `other`: max-min
 * fairness between two within what contention leaves. */
static uint32_t speed_beside(uint32_t use, uint32_t other) {
    if (use + other <= CONTENTION_LEFT) return 1000;
    uint32_t half = CONTENTION_LEFT / 2, rest = other < half ? CONTENTION_LEFT - other : half;
    return use <= rest ? 1000 : rest * 1000 / use;
}

/* A best-effort kernel, together with the best-effort kernels beside it, running beside the
 * request. Slots are reassigned only at the end of each of its waves. Slots that a kernel of the
 * request leaves free go to it, and the request's next kernel that needs more waits for the end of
 * the wave. */
struct beside {
    struct forecast_use use;
    uint64_t left_ns, wave_left_ns; /* remaining time at full speed: in all, and of its wave */
    uint32_t held;                  /* slots that it occupies */
};

static struct beside beside_of(const struct forecast_use *one, const struct forecast_use *heads) {
    struct beside b = {.use = *one, .left_ns = one->ns, .wave_left_ns = one->wave_ns};
    b.use.slots += heads->slots;
    b.use.compute += heads->compute;
    b.use.memory += heads->memory;
    b.held = b.use.slots;
    return b;
}

/* Advances the kernel by `ns` of its time at full speed. */
static void get_on(struct beside *b, uint64_t ns) {
    b->left_ns -= ns < b->left_ns ? ns : b->left_ns;
    if (ns < b->wave_left_ns) {
        b->wave_left_ns -= ns;
        return;
    }
    uint64_t wave_ns = b->use.wave_ns ? b->use.wave_ns : 1, into_ns = ns - b->wave_left_ns;
    b->wave_left_ns = wave_ns - (into_ns < wave_ns ? into_ns : into_ns % wave_ns);
}

/* Divisions cost more than all else here, and the part is usually the whole. */
static uint32_t part_of(uint32_t use, uint32_t part) {
    return part == 1000 ? use : use * part / 1000;
}

static uint32_t part_held(uint32_t held, uint32_t wanted) {
    return held == wanted ? 1000 : held * 1000 / wanted;
}

/* Speed, in thousandths, of kernel `one` with a part of its slots, beside `other` with a part of
 * its own. */
static uint32_t speed(const struct forecast_use *one, uint32_t part,
                      const struct forecast_use *other, uint32_t others) {
    uint32_t a = speed_beside(part_of(one->compute, part), part_of(other->compute, others));
    uint32_t b = speed_beside(part_of(one->memory, part), part_of(other->memory, others));
    return part_of(a < b ? a : b, part);
}

/* Both kernels have all their slots, and neither unit is contended. */
static bool is_free(const struct beside *b, const struct forecast_use *high, uint32_t slots) {
    return slots == high->slots && b->held == b->use.slots &&
           high->compute + b->use.compute <= CONTENTION_LEFT &&
           high->memory + b->use.memory <= CONTENTION_LEFT;
}

/* Runs `high`, with `slots` slots and *ns of work, beside `b`, until `high` has ended or `b` has
 * advanced by `most_ns`. Returns the delay, and sets *ns to the remaining work. */
static uint64_t together(struct beside *b, uint64_t most_ns, const struct forecast_use *high,
                         uint32_t slots, uint64_t *ns) {
    if (is_free(b, high, slots)) { /* the usual case: saves the divisions */
        uint64_t time_ns = *ns < most_ns ? *ns : most_ns;
        get_on(b, time_ns);
        *ns -= time_ns;
        return 0;
    }
    uint32_t part = part_held(slots, high->slots), others = part_held(b->held, b->use.slots);
    uint64_t best = speed(&b->use, others, high, part), own = speed(high, part, &b->use, others);
    if (best == 0) best = 1;
    if (*ns * best <= most_ns * own) { /* high ends first */
        uint64_t time_ns = own == 1000 ? *ns : *ns * 1000 / own, delay_ns = time_ns - *ns;
        get_on(b, time_ns * best / 1000);
        *ns = 0;
        return delay_ns;
    }
    uint64_t time_ns = most_ns * 1000 / best, done_ns = (time_ns * own + 999) / 1000;
    get_on(b, most_ns);
    *ns -= done_ns < *ns ? done_ns : *ns;
    return time_ns - done_ns;
}

/* Returns the delay of `high`, which has `ns` of work left. `begins`: it has no slots yet. */
static uint64_t meet(struct beside *b, const struct forecast_use *high, uint64_t ns, bool begins) {
    uint32_t free = b->held < CONTENTION_SLOTS ? CONTENTION_SLOTS - b->held : 0;
    uint32_t rest = CONTENTION_SLOTS - high->slots; /* no kernel needs more than all SMs */
    uint64_t delay_ns = 0;
    if (ns == 0) return 0;
    if (begins && high->slots > free) {
        uint64_t wave_ns = b->wave_left_ns < b->left_ns ? b->wave_left_ns : b->left_ns;
        delay_ns = together(b, wave_ns, high, free, &ns);
        if (b->left_ns == 0 || ns == 0) return delay_ns; /* the wave may continue */
    }
    b->held = b->use.slots < rest ? b->use.slots : rest;
    return delay_ns + together(b, b->left_ns, high, high->slots, &ns);
}

int32_t forecast_free(const struct forecast *f, const struct forecast_use *heads) {
    if (f->count == 0) return -1;
    uint32_t now = f->ended < f->count ? f->steps[f->ended].slots : 0;
    return (int32_t)CONTENTION_SLOTS - (int32_t)heads->slots - (int32_t)now;
}

/* Predicted delay of the request from its kernel `step` on. The device has executed that kernel for
 * `passed_ns`, unless `to_come`: then it has not begun, like those behind it. */
static uint64_t walk(const struct forecast *f, uint32_t step, uint64_t passed_ns, bool to_come,
                     const struct forecast_use *one, const struct forecast_use *heads,
                     uint32_t lookahead) {
    struct beside b = beside_of(one, heads);
    uint64_t delay_ns = 0;
    for (uint32_t i = 0; i < lookahead && b.left_ns > 0; i++) {
        const struct forecast_use *high = &f->steps[step];
        uint64_t left_ns = high->ns;
        if (i == 0) left_ns = passed_ns < left_ns ? left_ns - passed_ns : 0;
        delay_ns += meet(&b, high, left_ns, i > 0 || to_come);
        if (++step == f->count) step = 0;
    }
    return delay_ns;
}

uint64_t forecast_delay(const struct forecast *f, uint64_t now_ns, const struct forecast_use *one,
                        const struct forecast_use *heads, uint32_t lookahead) {
    if (f->count == 0) return 0;
    return walk(f, f->ended % f->count, now_ns - f->since_ns, false, one, heads, lookahead);
}

uint64_t forecast_delay_of_next(const struct forecast *f, const struct forecast_use *left,
                                const struct forecast_use *heads, uint32_t lookahead) {
    if (f->count == 0) return 0;
    return walk(f, f->ended % f->count, 0, true, left, heads, lookahead);
}
