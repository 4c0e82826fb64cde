/* SPDX-License-Identifier: Apache-2.0
 *
 * What happens to kernels that run side by side, in numbers: slack reckons with them (forecast.h),
 * the simulated device goes by them (daemon/sim/device/kdev.h). In thousandths.
 *
 * SLOTS and LEFT are the only free parameters. They are calibrated on Table 2 of the Orion paper
 * alone (two kernels of 1.295 ms and .89 ms, in pairs) by `make calibrate-contention` and frozen:
 * nothing else that the simulator shows is fitted.
 */
#ifndef DAEMON_SCHED_POLICY_CONTENTION_H
#define DAEMON_SCHED_POLICY_CONTENTION_H

#include <stdint.h>

#include "daemon/sched/sched.h"

/* Slots for blocks, of all SMs: blocks of different kernels share an SM, so that a little more fits
 * than one kernel could use. */
#define CONTENTION_SLOTS 1143u
/* What is left of the peak of a unit (arithmetic, memory bandwidth) once several kernels run. */
#define CONTENTION_LEFT 868u

/* What a kernel uses of the units when it fills `sms` of the SMs, or more; on fewer, less. */
struct contention_typical {
    uint32_t compute, memory, sms;
};

/* Where no utilisations are given: those of the paper's typical kernels (section 3.2). */
static inline struct contention_typical contention_typical(enum sched_class class) {
    switch (class) {
    case SCHED_CLASS_COMPUTE: /* Conv2d, which fills the device */
        return (struct contention_typical){.compute = 890, .memory = 200, .sms = 1000};
    case SCHED_CLASS_MEMORY: /* BN2d, which reaches its bandwidth on .40 of the SMs */
        return (struct contention_typical){.compute = 140, .memory = 800, .sms = 400};
    default: /* small kernels that use little */
        return (struct contention_typical){.compute = 300, .memory = 300, .sms = 1000};
    }
}

#endif
