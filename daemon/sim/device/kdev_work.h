/* SPDX-License-Identifier: Apache-2.0
 *
 * What the simulated device is given, in its own units: parts of all slots, parts of a unit's peak.
 */
#ifndef DAEMON_SIM_DEVICE_KDEV_WORK_H
#define DAEMON_SIM_DEVICE_KDEV_WORK_H

#include <stdbool.h>

/* A kernel as the device sees it. */
struct kdev_work {
    double duration_ns;
    double want;            /* slots; 0: a memory operation */
    double full;            /* of these, with which it is as fast as with all; 0: only with all */
    double fit;             /* of these, that it gets as best-effort work; 0: all */
    double wave_ns;         /* of one wave at full speed; 0: there is one only */
    double compute, memory; /* parts of the units that it uses alone */
};

/* The two free parameters (daemon/sched/policy/contention.h). Sliced: there are no slots, what is
 * wanted is device time, and `left` of all of it is there where several run. */
struct kdev_contention {
    double slots, left;
    bool sliced;
    uint64_t wait_ns; /* sliced: that an operation waits which begins beside others */
};

#endif
