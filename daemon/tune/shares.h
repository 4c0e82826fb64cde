/* SPDX-License-Identifier: Apache-2.0
 *
 * Computes how many of the given GPUs each trial of a set should get: line 3 of Algorithms 3.1 and
 * 3.2. Pure. strips.h assigns the GPUs.
 *
 * Owner: the caller. Thread: any.
 */
#ifndef DAEMON_TUNE_SHARES_H
#define DAEMON_TUNE_SHARES_H

#include <stdint.h>

#include "daemon/tune/fluid_curve.h"

#define SHARES_SLACK 1e-9 /* tolerance for rounding errors in a sum of shares */

struct shares_ask {
    double left_ns; /* h_{i,1} */
    uint64_t turn;  /* turn of the trial's group; lower turns go first */
    uint32_t place; /* the trial's place; among equal asks the lower place goes first */
    uint32_t packed_most, spread_most;
    struct curve curve;
    double share;  /* out: w_i, or w'_i */
    double run_ns; /* out, with SALUS_FLUID_FILL: h_{i,w} */
};

/* Sorts by turn, then by remaining work in descending order. `spare` has the same length. */
void shares_sort(struct shares_ask *asks, struct shares_ask *spare, uint32_t count);

/* Computes the shares of `gpus` GPUs for sorted asks. flags: SALUS_FLUID_*. */
void shares_plan(struct shares_ask *asks, uint32_t count, uint32_t gpus, uint32_t flags);

#endif
