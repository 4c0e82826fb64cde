/* SPDX-License-Identifier: Apache-2.0
 *
 * Table 2 of the Orion paper (section 3.2): two kernels alone, and the speedup of running each pair
 * of them concurrently instead of one after the other. The simulator's contention is calibrated on
 * this table.
 */
#ifndef TEST_LIB_TABLE2_H
#define TEST_LIB_TABLE2_H

#include <stdint.h>
#include <stdlib.h>

#include "daemon/sim/device/kdev.h"

#define TABLE2_SMS 80 /* multiprocessors of a V100 */
#define TABLE2_PAIRS 3

static const struct workload_kernel table2_conv = {.duration_ns = 1295000,
                                                   .sms = 80,
                                                   .class = SCHED_CLASS_COMPUTE,
                                                   .compute_milli = 890,
                                                   .memory_milli = 200};
static const struct workload_kernel table2_bn = {.duration_ns = 890000,
                                                 .sms = 32,
                                                 .class = SCHED_CLASS_MEMORY,
                                                 .compute_milli = 140,
                                                 .memory_milli = 800};

static const struct {
    const char *name;
    const struct workload_kernel *kernels[2];
    double speedup; /* speedup as printed in the paper */
} table2[TABLE2_PAIRS] = {
    {"Conv2d and Conv2d", {&table2_conv, &table2_conv}, 0.98},
    {"BN2d and BN2d", {&table2_bn, &table2_bn}, 1.08},
    {"Conv2d and BN2d", {&table2_conv, &table2_bn}, 1.41},
};

/* The speedup of the pair on the simulated device. */
static inline double table2_speedup(const struct kdev_contention *c, int pair) {
    const struct workload_kernel *const *kernels = table2[pair].kernels;
    const struct workload device = {.sms = TABLE2_SMS};
    struct kdev_work works[2];
    struct kdev *d;
    uint32_t ended[2];
    uint64_t at = 0;
    if (kdev_create(&d, c, 2, 1)) abort();
    for (uint32_t i = 0; i < 2; i++) {
        works[i] = kdev_work_of(&device, kernels[i]);
        kdev_push(d, 0, i, &works[i], 0, 0);
    }
    while (kdev_next(d) != KDEV_NEVER) {
        at = kdev_next(d);
        kdev_finished(d, at, ended);
    }
    kdev_destroy(d);
    return (double)(kernels[0]->duration_ns + kernels[1]->duration_ns) / (double)at;
}

#endif
