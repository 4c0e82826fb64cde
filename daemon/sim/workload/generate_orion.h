/* SPDX-License-Identifier: Apache-2.0
 *
 * Workloads of kernels from tables as the Orion authors publish them: a file a model, a row a
 * kernel in launch order: Name,Profile,Memory_footprint,SM_usage,Duration. Profile: 1 compute, 0
 * memory, -1 unknown; SM_usage: SMs that its blocks fill; Duration: nanoseconds alone.
 */
#ifndef DAEMON_SIM_WORKLOAD_GENERATE_ORION_H
#define DAEMON_SIM_WORKLOAD_GENERATE_ORION_H

#include "common/buf.h"
#include "daemon/sim/workload/workload.h"

struct generate_job {
    const char *model;    /* the file's name without .csv */
    const char *arrivals; /* closed, poisson:RATE, uniform:RATE, gaps:FILE or shuffled:FILE; NULL */
    uint64_t think_ns;    /* closed: host time between iterations */
    bool high;
};

struct generate_orion {
    const char *tables;        /* folder */
    struct generate_job *jobs; /* WORKLOAD_MAX_KERNEL_JOBS at most */
    uint32_t count, cap;
    uint64_t until_ns, launch_ns, dispatch_ns, slice_ns;
    uint32_t
        full_milli; /* of the SMs, on which kernels of class memory are at full speed; 0: all */
    uint32_t right_milli; /* as the device's right_size */
    bool subgrids;
};

/* 0; -EINVAL or -errno with a sentence in `errors`; -ENOMEM. */
int generate_orion(struct workload *out, const struct generate_orion *config, struct buf *errors);

#endif
