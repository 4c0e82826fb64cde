/* SPDX-License-Identifier: Apache-2.0
 *
 * Equation (9) has a branch f+ for a sum of utilisations above 1, and a branch f- for any other.
 * The paper prints only f+ and says that a cost is to be paid "when over-commitment manifests": f-
 * is 0 here.
 */
#include "daemon/place/state/curve.h"

#include <math.h>

#define COEFFICIENT_MOST 1e6
#define ROUNDING 1e-9 /* generous bound of a polynomial's rounding error in doubles */

uint64_t curve_ppm(double util) {
    double ppm = round(util * CURVE_WHOLE);
    return ppm < 1 ? 1 : (uint64_t)ppm;
}

static bool usual(double a) {
    return fabs(a) <= COEFFICIENT_MOST; /* false for NaN */
}

bool curve_is_sound(const struct place_curve *c) {
    return usual(c->a2) && usual(c->a1) && usual(c->a0);
}

/* Demand above the GPU's time, as a fraction of that time. */
static double excess(uint64_t ppm) {
    return ((double)ppm - CURVE_WHOLE) / CURVE_WHOLE;
}

static double polynomial(const struct place_curve *c, double x) {
    return fmax((c->a2 * x + c->a1) * x + c->a0, 0);
}

double curve_slowdown(const struct place_curve *c, uint64_t ppm) {
    return ppm > CURVE_WHOLE ? polynomial(c, excess(ppm)) : 0;
}

/* The paper's curves fall a little before they rise; in the falling part there is no bound. */
double curve_least(const struct place_curve *c, uint64_t ppm) {
    double x = excess(ppm);
    if (ppm <= CURVE_WHOLE || c->a2 < 0 || 2 * c->a2 * x + c->a1 < 0) return 0;
    return fmax(polynomial(c, x) * (1 - ROUNDING) - ROUNDING, 0);
}

double curve_most(const struct place_curve *c, uint64_t ppm) {
    if (ppm <= CURVE_WHOLE) return 0;
    double x = excess(ppm);
    double most = fmax(polynomial(c, 0), polynomial(c, x));
    double top = c->a2 < 0 ? -c->a1 / (2 * c->a2) : 0;
    return top > 0 && top < x ? fmax(most, polynomial(c, top)) : most;
}

uint64_t curve_within(const struct place_curve *c, double slack) {
    uint64_t low = CURVE_WHOLE, high = (uint64_t)1 << 40; /* low is within the slack, high is not */
    if (curve_most(c, high) <= slack) return high;
    while (high - low > 1) {
        uint64_t mid = low + (high - low) / 2;
        if (curve_most(c, mid) <= slack)
            low = mid;
        else
            high = mid;
    }
    return low;
}
