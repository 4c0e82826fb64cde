/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the root by bisection.
 */
#include "daemon/sim/serve/lognormal.h"

#include "daemon/serve/plan/outlook/expo.h"

#define Z99 2.3263478740408408 /* the 0.99 quantile of a normal distribution; the largest sigma */
#define HALVINGS 60

/* Quantile divided by mean. */
static double ratio(double sigma) {
    return expo(Z99 * sigma - sigma * sigma / 2);
}

bool lognormal_is(double mean, double p99) {
    return mean > 0 && p99 >= mean && p99 / mean <= ratio(Z99);
}

/* The ratio rises with sigma up to Z99. */
static double sigma_of(double wanted) {
    double low = 0, high = Z99;
    for (int i = 0; i < HALVINGS; i++) {
        double middle = (low + high) / 2;
        if (ratio(middle) < wanted)
            low = middle;
        else
            high = middle;
    }
    return (low + high) / 2;
}

double lognormal_at(double mean, double p99, double z) {
    double sigma = sigma_of(p99 / mean);
    return mean * expo(sigma * z - sigma * sigma / 2);
}
