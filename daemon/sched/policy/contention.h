/* SPDX-License-Identifier: Apache-2.0
 *
 * Constants of the contention between concurrent kernels, in thousandths. slack predicts with them
 * (forecast.h), and the simulated device applies them (daemon/sim/device/kdev.h).
 *
 * SLOTS and LEFT are the only free parameters. They are calibrated on Table 2 of the Orion paper
 * alone (two kernels of 1.295 ms and .89 ms, in pairs) by `make calibrate-contention`, and frozen:
 * the simulator has no other fitted values.
 */
#ifndef DAEMON_SCHED_POLICY_CONTENTION_H
#define DAEMON_SCHED_POLICY_CONTENTION_H

#include <stdint.h>

#include "daemon/sched/sched.h"

/* Slots for blocks on all SMs together. Blocks of different kernels share an SM, so that slightly
 * more fit than a single kernel could use. */
#define CONTENTION_SLOTS 1143u
/* The part of a unit's peak (arithmetic, memory bandwidth) that remains when several kernels run.
 */
#define CONTENTION_LEFT 868u

/* A kernel's utilisation of the units when it fills at least `sms` of the SMs; on fewer, it is
 * less. */
struct contention_typical {
    uint32_t compute, memory, sms;
};

/* Utilisations of the paper's typical kernels (section 3.2), for kernels without a profile. */
static inline struct contention_typical contention_typical(enum sched_class class) {
    switch (class) {
    case SCHED_CLASS_COMPUTE: /* Conv2d, which fills the device */
        return (struct contention_typical){.compute = 890, .memory = 200, .sms = 1000};
    case SCHED_CLASS_MEMORY: /* BN2d, which reaches its bandwidth on .40 of the SMs */
        return (struct contention_typical){.compute = 140, .memory = 800, .sms = 400};
    default: /* small kernels with little utilisation */
        return (struct contention_typical){.compute = 300, .memory = 300, .sms = 1000};
    }
}

#endif
