/* SPDX-License-Identifier: Apache-2.0
 *
 * Slowdown of jobs that share one GPU (Horus, section 3.2; (9)). Utilisation is counted in
 * millionths of a GPU's time, so that sums are exact and do not depend on the order of arrival.
 *
 * Owner: none, pure arithmetic. Thread: any.
 */
#ifndef DAEMON_PLACE_STATE_CURVE_H
#define DAEMON_PLACE_STATE_CURVE_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/place/state/place_types.h"

#define CURVE_WHOLE 1000000u /* all of a GPU's time */

/* Converts a utilisation or a sum of utilisations to millionths; returns at least one. */
uint64_t curve_ppm(double util);

/* Tests for finite coefficients of reasonable size. */
bool curve_is_sound(const struct place_curve *c);

/* f of (9) for jobs that together want `ppm` of a GPU; never below 0. */
double curve_slowdown(const struct place_curve *c, uint64_t ppm);
/* Lower bound of the slowdown of jobs that want `ppm` or more. */
double curve_least(const struct place_curve *c, uint64_t ppm);
/* Upper bound of the slowdown of jobs that want `ppm` or less. */
double curve_most(const struct place_curve *c, uint64_t ppm);
/* The largest utilisation for which curve_most is within `slack`; at least CURVE_WHOLE. */
uint64_t curve_within(const struct place_curve *c, double slack);

static inline uint64_t curve_left(uint64_t most_ppm, uint64_t used_ppm) {
    return most_ppm > used_ppm ? most_ppm - used_ppm : 0;
}

#endif
