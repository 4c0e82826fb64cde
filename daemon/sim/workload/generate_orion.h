/* SPDX-License-Identifier: Apache-2.0
 *
 * Workloads of kernels from tables in the format of Orion's authors: one file per model, one row
 * per kernel in launch order: Name,Profile,Memory_footprint,SM_usage,Duration. Profile is 1 for
 * compute, 0 for memory, -1 for unknown; SM_usage is the number of SMs that its blocks fill;
 * Duration is in nanoseconds alone.
 */
#ifndef DAEMON_SIM_WORKLOAD_GENERATE_ORION_H
#define DAEMON_SIM_WORKLOAD_GENERATE_ORION_H

#include "common/buf.h"
#include "daemon/sim/workload/workload.h"

struct generate_job {
    const char *model; /* the file's name without .csv */
    /* Closed, poisson:RATE, uniform:RATE, gaps:FILE or shuffled:FILE; or NULL. */
    const char *arrivals;
    uint64_t think_ns; /* closed: host time between iterations */
    bool high;
};

struct generate_orion {
    const char *tables;        /* directory */
    struct generate_job *jobs; /* at most WORKLOAD_MAX_KERNEL_JOBS */
    uint32_t count, cap;
    uint64_t until_ns, launch_ns, dispatch_ns, slice_ns;
    /* Thousandths of the SMs with which kernels of class memory run at full speed; 0: they need
     * all. */
    uint32_t full_milli;
    uint32_t right_milli; /* the device's right_size */
    bool subgrids;
};

/* Returns 0, -ENOMEM, or -EINVAL or another -errno with a sentence in `errors`. */
int generate_orion(struct workload *out, const struct generate_orion *config, struct buf *errors);

#endif
