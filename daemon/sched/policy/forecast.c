/* SPDX-License-Identifier: Apache-2.0
 *
 * A walk along the kernels that are to come.
 */
#include "daemon/sched/policy/forecast.h"

#include <stdlib.h>

#include "daemon/sched/policy/contention.h"

/* ---- what a kernel takes -----------------------------------------------------------------------
 */

static void set_units(struct forecast_use *u, const struct sched_kernel *k) {
    u->compute = k->compute_milli;
    u->memory = k->memory_milli;
    if (u->compute || u->memory) return;
    const struct contention_typical typical = contention_typical(k->class);
    uint32_t busy = u->slots < typical.sms ? u->slots * 1000 / typical.sms : 1000;
    u->compute = typical.compute * busy / 1000;
    u->memory = typical.memory * busy / 1000;
}

struct forecast_use forecast_use(const struct sched_kernel *k, uint64_t ns, uint32_t sms) {
    uint32_t filled = (uint32_t)((uint64_t)k->sms * 1000 / sms);
    uint64_t tail_ns = k->tail_ns ? k->tail_ns : ns;
    struct forecast_use u = {.ns = ns, .slots = filled < 1000 ? filled : 1000};
    u.wave_ns = filled > 1000 ? tail_ns * 1000 / filled : tail_ns;
    set_units(&u, k);
    return u;
}

/* ---- the sequence ------------------------------------------------------------------------------
 */

bool forecast_memory(struct forecast *f, memory_visit *visit, void *arg) {
    return visit(arg, (void **)&f->steps, f->cap * sizeof(*f->steps));
}

/* Without memory for it what is known of requests ends here. */
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

/* ---- delays ------------------------------------------------------------------------------------
 */

/* Speed, in thousandths, of a kernel that uses so much of a unit beside others' `other`: max-min of
 * two in what contention leaves. */
static uint32_t speed_beside(uint32_t use, uint32_t other) {
    if (use + other <= CONTENTION_LEFT) return 1000;
    uint32_t half = CONTENTION_LEFT / 2, rest = other < half ? CONTENTION_LEFT - other : half;
    return use <= rest ? 1000 : rest * 1000 / use;
}

/* Of `high`, over `ns` of its time, beside `best`. */
static uint64_t shared_ns(const struct forecast_use *high, uint64_t ns,
                          const struct forecast_use *best) {
    uint32_t a = speed_beside(high->compute, best->compute);
    uint32_t b = speed_beside(high->memory, best->memory), speed = a < b ? a : b;
    return ns * 1000 / speed - ns;
}

/* Of `high`, which begins while `best` holds slots for `wave_ns` more. */
static uint64_t wait_ns(const struct forecast_use *high, const struct forecast_use *best,
                        uint64_t wave_ns) {
    uint32_t free = best->slots < CONTENTION_SLOTS ? CONTENTION_SLOTS - best->slots : 0;
    if (high->slots <= free) return 0;
    uint64_t part = (uint64_t)free * 1000 / high->slots; /* of its slots, until the wave's end */
    uint64_t waits = wave_ns * (1000 - part) / 1000;
    if (part == 0) return waits;
    uint64_t slower = high->ns * 1000 / part - high->ns;
    return slower < waits ? slower : waits;
}

int32_t forecast_free(const struct forecast *f, const struct forecast_use *heads) {
    if (f->count == 0) return -1;
    uint32_t now = f->ended < f->count ? f->steps[f->ended].slots : 0;
    return (int32_t)CONTENTION_SLOTS - (int32_t)heads->slots - (int32_t)now;
}

/* From the kernel `step` on, which the device has been at for `passed_ns`, unless it is `to_come`
 * as those behind it are. */
static uint64_t walk(const struct forecast *f, uint32_t step, uint64_t passed_ns, bool to_come,
                     const struct forecast_use *one, const struct forecast_use *heads,
                     uint32_t lookahead) {
    struct forecast_use best = {.slots = one->slots + heads->slots,
                                .compute = one->compute + heads->compute,
                                .memory = one->memory + heads->memory};
    uint64_t at = 0, delay = 0;
    for (uint32_t i = 0; i < lookahead && at < one->ns; i++) {
        const struct forecast_use *high = &f->steps[step];
        uint64_t left = high->ns;
        if (i == 0) left = passed_ns < left ? left - passed_ns : 0;
        uint64_t both = left < one->ns - at ? left : one->ns - at;
        delay += shared_ns(high, both, &best);
        if ((i > 0 || to_come) && at < one->wave_ns)
            delay += wait_ns(high, &best, one->wave_ns - at);
        at += left;
        if (++step == f->count) step = 0;
    }
    return delay;
}

uint64_t forecast_delay(const struct forecast *f, uint64_t now_ns, const struct forecast_use *one,
                        const struct forecast_use *heads, uint32_t lookahead) {
    if (f->count == 0) return 0;
    return walk(f, f->ended % f->count, now_ns - f->since_ns, false, one, heads, lookahead);
}

uint64_t forecast_delay_of_next(const struct forecast *f, const struct forecast_use *left,
                                const struct forecast_use *heads, uint32_t lookahead) {
    if (f->count == 0) return 0;
    return walk(f, 0, 0, true, left, heads, lookahead);
}
