/* SPDX-License-Identifier: Apache-2.0
 *
 * What ran, as a workload for salus-sim (docs/workload.md): each job as it was seen last. Owner:
 * the caller.
 */
#ifndef DAEMON_CTL_RECORD_RECORDING_H
#define DAEMON_CTL_RECORD_RECORDING_H

#include <stdbool.h>
#include <stdio.h>

#include "daemon/ctl/record/kernel_trace.h"
#include "proto/control/ctl.h"

/* What is left of the software GPU, in thousandths, where several jobs' work runs side by side, and
 * what an operation that begins waits there for the slices of others, in us: the two parameters
 * that were found by measuring, for pairs of programs that nothing else is shown of
 * (docs/results/2026-11-prediction.md). */
#define RECORDING_SOFT_LEFT 980u
#define RECORDING_SOFT_WAIT_US 447u

struct recorded {
    struct ctl_job job;
    bool ended, refused;
    uint64_t ended_ns; /* since 1970 */
};

struct recording {
    struct recorded *jobs; /* in the order in which they were seen first */
    size_t count, cap;
    uint64_t device_bytes; /* 0: not known */
    bool soft;             /* the software GPU, which gives all that runs equal slices */
    const struct kernel_trace *kernels; /* NULL: jobs are iterations of a length */
};

void recording_init(struct recording *r);
void recording_finish(struct recording *r);

/* A job as it is now; and as it was at its end. 0 or -ENOMEM. */
int recording_see(struct recording *r, const struct ctl_job *job);
int recording_see_ended(struct recording *r, const struct ctl_ended *ended);

/* Jobs that nothing can be said of are written as comments. `now_ns`: since 1970, for those that
 * still run. Returns how many jobs the workload has. */
size_t recording_write(const struct recording *r, FILE *out, uint64_t now_ns);

#endif
