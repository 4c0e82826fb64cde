/* SPDX-License-Identifier: Apache-2.0
 *
 * Effect of a share of GPUs on a trial's speed, and the limits c and d that follow from it (thesis,
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
    double alpha, beta; /* overheads of (3.2); alpha 0 means SALUS_FLUID_EVEN (salus_fluid.h) */
};

/* Tests that alpha and beta are valid for (3.2). */
bool fluid_curve_can_be(const struct curve *k);

/* Speed on this share relative to one GPU alone: h_{i,1} / h_{i,w}. */
double fluid_curve_rate(const struct curve *k, double share);

/* The largest number of trials on a GPU at which each added trial was worth its cost (lemma 4). */
uint32_t fluid_curve_packed_most(double alpha);
/* The largest number of GPUs of one trial at which each added GPU was worth its cost (lemma 6). */
uint32_t fluid_curve_spread_most(double beta);

#endif
