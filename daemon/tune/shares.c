/* SPDX-License-Identifier: Apache-2.0
 *
 * Computes w_i = min(max(floor(h_{i,1} / sum h_{j,1} * n), 1/c), d).
 *
 * In the printed formula the floor comes before the maximum. Every share is therefore 1/c or whole,
 * and a trial that deserves 0.9 of a GPU is planned like one that deserves 0.1. (B.1) says the
 * same. This costs little, because trials on a GPU with fewer than c sharers still use all of it
 * (strips.h). With SALUS_FLUID_FRACTIONS, shares below 1 are not rounded down.
 *
 * The floors leave up to one GPU per trial idle. DynamicFluid is the printed remedy, but it rounds
 * down as well: of two trials that deserve 1.5 and 3.5 of five GPUs, the longer one gains nothing.
 * With SALUS_FLUID_FILL, idle GPUs go one by one to the trial that would end last, as long as that
 * helps.
 */
#include "daemon/tune/shares.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "daemon/tune/salus_fluid.h"

/* ---- order ----------------------------------------------------------------------------------- */

static bool goes_first(const struct shares_ask *a, const struct shares_ask *b) {
    if (a->turn != b->turn) return a->turn < b->turn;
    if (a->left_ns != b->left_ns) return a->left_ns > b->left_ns;
    return a->place < b->place;
}

static void merge(struct shares_ask *to, const struct shares_ask *from, uint32_t a, uint32_t b,
                  uint32_t end) {
    uint32_t a_end = b, at = a;
    while (a < a_end || b < end) {
        bool second = a == a_end || (b < end && goes_first(&from[b], &from[a]));
        to[at++] = from[second ? b++ : a++];
    }
}

/* Merge sort without allocation; qsort may allocate. */
void shares_sort(struct shares_ask *asks, struct shares_ask *spare, uint32_t count) {
    struct shares_ask *from = asks, *to = spare;
    for (uint32_t run = 1; run < count; run *= 2) {
        for (uint32_t at = 0; at < count; at += 2 * run) {
            uint32_t b = at + run < count ? at + run : count;
            uint32_t end = b + run < count ? b + run : count;
            merge(to, from, at, b, end);
        }
        struct shares_ask *swap = from;
        from = to;
        to = swap;
    }
    if (from != asks) memcpy(asks, from, count * sizeof(*asks));
}

/* ---- line 3 of the algorithms ---------------------------------------------------------------- */

static double line_3(const struct shares_ask *a, double sum_ns, uint32_t gpus, uint32_t flags) {
    double exact = a->left_ns * gpus / sum_ns;
    double share = floor(exact + SHARES_SLACK);
    if (flags & SALUS_FLUID_FIFO) return 1;
    if (share < 1 && flags & SALUS_FLUID_FRACTIONS) share = exact;
    return fmin(fmax(share, 1.0 / a->packed_most), a->spread_most);
}

/* GPUs that stay free if each trial with a share below one gets a GPU for itself. */
static uint32_t left_over(const struct shares_ask *asks, uint32_t count, uint32_t gpus) {
    double taken = 0;
    for (uint32_t i = 0; i < count; i++)
        taken += ceil(asks[i].share);
    return taken < gpus ? (uint32_t)(gpus - taken) : 0;
}

/* A trial alone on its GPU uses all of it, whatever its share. */
static double width(const struct shares_ask *a) {
    return fmax(a->share, 1);
}

static void reckon(struct shares_ask *a) {
    a->run_ns = a->left_ns / fluid_curve_rate(&a->curve, width(a));
}

static struct shares_ask *last(struct shares_ask *asks, uint32_t count) {
    struct shares_ask *found = asks;
    for (uint32_t i = 1; i < count; i++)
        if (asks[i].run_ns > found->run_ns) found = &asks[i];
    return found;
}

/* Gives the free GPUs to the trials that end last. Stops when the last one cannot become faster,
 * because no other share then ends the group sooner. */
static void fill(struct shares_ask *asks, uint32_t count, uint32_t gpus) {
    uint32_t rest = left_over(asks, count, gpus);
    if (!rest) return;
    for (uint32_t i = 0; i < count; i++)
        reckon(&asks[i]);
    for (; rest; rest--) {
        struct shares_ask *a = last(asks, count);
        double more = width(a) + 1;
        if (more > a->spread_most ||
            fluid_curve_rate(&a->curve, more) <= fluid_curve_rate(&a->curve, width(a)))
            return;
        a->share = more;
        reckon(a);
    }
}

void shares_plan(struct shares_ask *asks, uint32_t count, uint32_t gpus, uint32_t flags) {
    double sum_ns = 0;
    for (uint32_t i = 0; i < count; i++)
        sum_ns += asks[i].left_ns;
    for (uint32_t i = 0; i < count; i++)
        asks[i].share = line_3(&asks[i], sum_ns, gpus, flags);
    if (flags & SALUS_FLUID_FILL && !(flags & SALUS_FLUID_FIFO) && count) fill(asks, count, gpus);
}
