/* SPDX-License-Identifier: Apache-2.0
 *
 * The optimum with which Fluid is compared, found by searching all schedules of a few trials.
 */
#ifndef TEST_LIB_FLUIDBEST_H
#define TEST_LIB_FLUIDBEST_H

#include <stdint.h>

#define FLUIDBEST_TRIALS 6u
#define FLUIDBEST_GPUS 4u

/* The least makespan of trials that take left[i] / w * beta^(w-1) on w whole GPUs, with w <=
 * spread_most chosen once for each trial, without preemption. GPUs are not shared, because
 * sharing gains nothing where areas stay the same. */
double fluidbest_whole(const double *left, uint32_t count, uint32_t gpus, uint32_t spread_most,
                       double beta);

/* A lower bound of all schedules under (3.2): no trial is faster than on its best share, and
 * none uses less of all GPUs than on its cheapest share. */
double fluidbest_bound(const double *left, uint32_t count, uint32_t gpus, uint32_t packed_most,
                       uint32_t spread_most, double alpha, double beta);

#endif
