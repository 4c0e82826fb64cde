/* SPDX-License-Identifier: Apache-2.0
 *
 * By how much jobs on one GPU slow each other down (Horus, section 3.2; (9)). Utilisation is
 * counted in millionths of a GPU's time, so that a sum is exact and does not depend on the order in
 * which jobs came.
 *
 * Owner: none, it is arithmetic. Thread: any.
 */
#ifndef DAEMON_PLACE_STATE_CURVE_H
#define DAEMON_PLACE_STATE_CURVE_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/place/state/place_types.h"

#define CURVE_WHOLE 1000000u /* all of a GPU's time */

/* Of a utilisation, or of a sum of some: at least a millionth. */
uint64_t curve_ppm(double util);

/* Finite, and nothing absurd. */
bool curve_is_sound(const struct place_curve *c);

/* f of jobs that together want `ppm` of a GPU; never below 0. */
double curve_slowdown(const struct place_curve *c, uint64_t ppm);
/* Jobs that want `ppm` or more are slowed down by no less than this. */
double curve_least(const struct place_curve *c, uint64_t ppm);
/* Jobs that want `ppm` or less are slowed down by no more than this. */
double curve_most(const struct place_curve *c, uint64_t ppm);
/* The most for which curve_most is within `slack`; at least CURVE_WHOLE. */
uint64_t curve_within(const struct place_curve *c, double slack);

static inline uint64_t curve_left(uint64_t most_ppm, uint64_t used_ppm) {
    return most_ppm > used_ppm ? most_ppm - used_ppm : 0;
}

#endif
