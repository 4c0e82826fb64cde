/* SPDX-License-Identifier: Apache-2.0
 *
 * Taking the trials in the order of their start in some optimal schedule, each onto the GPUs that
 * are free first, yields an optimal schedule. So the search tries all orders and widths this way,
 * except those that cannot beat the best so far.
 */
#include "test/lib/tune/fluidbest.h"

#include <math.h>
#include <string.h>

#include "daemon/tune/salus_fluid.h"

struct search {
    const double *left;
    double area[FLUIDBEST_TRIALS]; /* least area (time x GPUs) of each trial */
    uint32_t count, gpus, spread_most;
    double beta, best, least;
};

static double width_ns(const struct search *s, uint32_t trial, uint32_t w) {
    return salus_fluid_run_ns(s->left[trial], w, 1, s->beta);
}

/* Free times stay sorted: the first w are replaced by the end time. */
static void take_first(double *free, uint32_t gpus, uint32_t w, double end) {
    double rest[FLUIDBEST_GPUS];
    uint32_t at = 0;
    memcpy(rest, free, gpus * sizeof(*free));
    for (uint32_t i = w; i < gpus && rest[i] <= end; i++)
        free[at++] = rest[i];
    for (uint32_t i = 0, from = at; i < w; i++)
        free[from + i] = end;
}

static double free_area(const double *free, uint32_t gpus) {
    double sum = 0;
    for (uint32_t i = 0; i < gpus; i++)
        sum += free[i];
    return sum;
}

static void go_on(struct search *s, uint32_t left, const double *free, double end, double area) {
    if (!left && end < s->best) s->best = end;
    if ((free_area(free, s->gpus) + area) / s->gpus >= s->best || end >= s->best) return;
    for (uint32_t i = 0; i < s->count; i++) {
        if (!(left & 1u << i)) continue;
        for (uint32_t w = s->spread_most; w > 0; w--) {
            double then[FLUIDBEST_GPUS], ends = free[w - 1] + width_ns(s, i, w);
            if (s->best <= s->least) return;
            memcpy(then, free, s->gpus * sizeof(*free));
            take_first(then, s->gpus, w, ends);
            go_on(s, left & ~(1u << i), then, fmax(end, ends), area - s->area[i]);
        }
    }
}

double fluidbest_whole(const double *left, uint32_t count, uint32_t gpus, uint32_t spread_most,
                       double beta) {
    struct search s = {.left = left,
                       .count = count,
                       .gpus = gpus,
                       .spread_most = spread_most < gpus ? spread_most : gpus,
                       .beta = beta,
                       .best = INFINITY};
    double free[FLUIDBEST_GPUS] = {0}, area = 0;
    for (uint32_t i = 0; i < count; i++)
        area += s.area[i] = left[i];
    s.least = fluidbest_bound(left, count, gpus, 1, spread_most, 1, beta) * (1 + 1e-12);
    go_on(&s, (1u << count) - 1, free, 0, area);
    return s.best;
}

double fluidbest_bound(const double *left, uint32_t count, uint32_t gpus, uint32_t packed_most,
                       uint32_t spread_most, double alpha, double beta) {
    double area = 0, longest = 0;
    if (spread_most > gpus) spread_most = gpus;
    for (uint32_t i = 0; i < count; i++) {
        double cheapest = left[i], fastest = left[i];
        for (uint32_t p = 2; p <= packed_most; p++)
            cheapest = fmin(cheapest, salus_fluid_run_ns(left[i], 1.0 / p, alpha, beta) / p);
        for (uint32_t w = 2; w <= spread_most; w++)
            fastest = fmin(fastest, salus_fluid_run_ns(left[i], w, alpha, beta));
        area += cheapest;
        longest = fmax(longest, fastest);
    }
    return fmax(area / gpus, longest);
}
