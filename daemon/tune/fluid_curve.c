/* SPDX-License-Identifier: Apache-2.0
 *
 * Equation (3.2) and the limits that follow from it.
 *
 * alpha: with p trials on a GPU, each takes alpha^{p-1} times as long as alone. So w = 1/p in (3.2)
 * means "one of p trials", not a p-th of the speed: with alpha = 1, packing costs nothing at all.
 * The proof of theorem 1 assumes that areas stay the same ("the job size remains the same"). No
 * constant alpha satisfies that for more than one p; alpha 0 stands for it here.
 */
#include "daemon/tune/fluid_curve.h"

#include <math.h>

#include "daemon/tune/salus_fluid.h"

static bool overhead_can_be(double x) {
    return x >= 1 && x <= 1000; /* false for NaN */
}

bool fluid_curve_can_be(const struct curve *k) {
    return (k->alpha == SALUS_FLUID_EVEN || overhead_can_be(k->alpha)) && overhead_can_be(k->beta);
}

double fluid_curve_rate(const struct curve *k, double share) {
    if (share >= 1) return k->beta == 1 ? share : share * pow(k->beta, 1 - share);
    if (k->alpha == SALUS_FLUID_EVEN) return share;
    return k->alpha == 1 ? 1 : pow(k->alpha, 1 - 1 / share);
}

/* Condition alpha < c/(c-1): the c-th trial adds more throughput than it costs. */
uint32_t fluid_curve_packed_most(double alpha) {
    uint32_t c = 1;
    if (alpha == SALUS_FLUID_EVEN) return CURVE_LIMIT;
    while (c < CURVE_LIMIT && alpha * c < c + 1)
        c++;
    return c;
}

/* Condition beta < (d+1)/d, as lemma 6 prints it: one less than the last GPU that increases the
 * speed. */
uint32_t fluid_curve_spread_most(double beta) {
    uint32_t d = 1;
    while (d < CURVE_LIMIT && beta * (d + 1) < d + 2)
        d++;
    return d;
}

/* ---- functions that the library exports ------------------------------------------------------ */

double salus_fluid_run_ns(double alone_ns, double share, double alpha, double beta) {
    return alone_ns / fluid_curve_rate(&(struct curve){alpha, beta}, share);
}

double salus_fluid_benefit(uint32_t p, double mean_p, double mean_before) {
    return 1 - (p - 1.0) / p * (mean_p / mean_before);
}

static bool are_times(const double *mean, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (!(mean[i] > 0) || !isfinite(mean[i])) return false;
    return count > 0;
}

/* The thesis prints "c = arg max_p O^p > O_th", the p with the largest benefit, which is 2 wherever
 * overheads grow. Its text describes the point at which the benefit falls below the threshold; this
 * function computes that point. */
uint32_t salus_fluid_packed_most(const double *mean, uint32_t count, double threshold) {
    uint32_t c = 1;
    if (!are_times(mean, count)) return 0;
    while (c < count && salus_fluid_benefit(c + 1, mean[c], mean[c - 1]) > threshold)
        c++;
    return c;
}

/* Fits the slope through the origin of log(t_p / t_1 * p^power) over p - 1. */
static double fit(const double *mean, uint32_t count, double power) {
    double above = 0, below = 0;
    if (!are_times(mean, count)) return 0;
    for (uint32_t i = 1; i < count; i++) {
        above += i * (log(mean[i] / mean[0]) + power * log(i + 1.0));
        below += (double)i * i;
    }
    return below > 0 && above > 0 ? exp(above / below) : 1;
}

double salus_fluid_alpha(const double *mean, uint32_t count) {
    return fit(mean, count, 0);
}

double salus_fluid_beta(const double *mean, uint32_t count) {
    return fit(mean, count, 1);
}

uint32_t salus_fluid_packed_by(double alpha) {
    return fluid_curve_packed_most(alpha);
}

uint32_t salus_fluid_spread_by(double beta) {
    return fluid_curve_spread_most(beta);
}
