/* SPDX-License-Identifier: Apache-2.0
 *
 * How much each trial of a set should get of so many GPUs: line 3 of Algorithms 3.1 and 3.2. Pure;
 * where a share lies is strips.h's.
 *
 * Owner: the caller. Thread: any.
 */
#ifndef DAEMON_TUNE_SHARES_H
#define DAEMON_TUNE_SHARES_H

#include <stdint.h>

#include "daemon/tune/fluid_curve.h"

#define SHARES_SLACK 1e-9 /* what a sum of shares may be off by */

struct shares_ask {
    double left_ns; /* h_{i,1} */
    uint64_t turn;  /* of its group: lower ones go first */
    uint32_t place; /* whose it is; of equal ones the lower one goes first */
    uint32_t packed_most, spread_most;
    struct curve curve;
    double share;  /* out: w_i, or w'_i */
    double run_ns; /* out, with SALUS_FLUID_FILL: h_{i,w} */
};

/* By turn, then in non-increasing order of what is left. `spare` is as large. */
void shares_sort(struct shares_ask *asks, struct shares_ask *spare, uint32_t count);

/* Shares of `gpus` GPUs for asks in that order; flags: SALUS_FLUID_*. */
void shares_plan(struct shares_ask *asks, uint32_t count, uint32_t gpus, uint32_t flags);

#endif
