/* SPDX-License-Identifier: Apache-2.0
 *
 * Work and contention in the simulated device's own units: fractions of all slots, and fractions of
 * a unit's peak.
 */
#ifndef DAEMON_SIM_DEVICE_KDEV_WORK_H
#define DAEMON_SIM_DEVICE_KDEV_WORK_H

#include <stdbool.h>

/* A kernel as the device sees it. */
struct kdev_work {
    double duration_ns;
    double want;    /* slots; 0: a memory operation */
    double full;    /* slots with which it is as fast as with all it wants; 0: it needs all */
    double fit;     /* slots that it gets as best-effort work; 0: all */
    double wave_ns; /* duration of one wave at full speed; 0: there is only one wave */
    double compute, memory; /* fractions of the units that it uses alone */
};

/* The two free parameters (daemon/sched/policy/contention.h). On a sliced device there are no
 * slots: kernels want device time, of which `left` is available when several run. */
struct kdev_contention {
    double slots, left;
    bool sliced;
    uint64_t wait_ns; /* sliced: wait of an operation that begins beside others */
};

#endif
