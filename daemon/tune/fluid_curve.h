/* SPDX-License-Identifier: Apache-2.0
 *
 * What a share of GPUs does to a trial's speed, and what that says of the limits c and d (thesis,
 * (3.1), (3.2), lemmas 4 and 6). Pure.
 *
 * Owner: the caller. Thread: any.
 */
#ifndef DAEMON_TUNE_FLUID_CURVE_H
#define DAEMON_TUNE_FLUID_CURVE_H

#include <stdbool.h>
#include <stdint.h>

#define CURVE_LIMIT 1024u

struct curve {
    double alpha, beta; /* of (3.2); alpha 0: even, see salus_fluid.h */
};

/* Both are numbers that (3.2) can do with. */
bool fluid_curve_can_be(const struct curve *k);

/* Work on one GPU alone that is done in a unit of time on this share: h_{i,1} / h_{i,w}. */
double fluid_curve_rate(const struct curve *k, double share);

/* The largest number of trials on a GPU such that each of them was worth it (lemma 4). */
uint32_t fluid_curve_packed_most(double alpha);
/* The same of a trial's GPUs (lemma 6). */
uint32_t fluid_curve_spread_most(double beta);

#endif
