/* SPDX-License-Identifier: Apache-2.0
 *
 * The jobs that ran, as a workload for salus-sim (docs/workload.md). Each job has its latest
 * observed state. Owner: the caller.
 */
#ifndef DAEMON_CTL_RECORD_RECORDING_H
#define DAEMON_CTL_RECORD_RECORDING_H

#include <stdbool.h>
#include <stdio.h>

#include "daemon/ctl/record/kernel_trace.h"
#include "proto/control/ctl.h"

/* Two parameters of the software GPU when several jobs run side by side: the part of its speed that
 * remains, in thousandths, and the time that an operation waits there for the slices of others, in
 * us. They were measured with pairs of programs that are used for nothing else
 * (docs/results/2026-11-prediction.md). */
#define RECORDING_SOFT_LEFT 980u
#define RECORDING_SOFT_WAIT_US 447u

struct recorded {
    struct ctl_job job;
    bool ended, refused;
    uint64_t ended_ns; /* since 1970 */
};

struct recording {
    struct recorded *jobs; /* in the order of first observation */
    size_t count, cap;
    uint64_t device_bytes; /* 0: unknown */
    bool soft;             /* the software GPU, which gives all running jobs equal slices */
    const struct kernel_trace *kernels; /* NULL: jobs are written without kernels */
};

void recording_init(struct recording *r);
void recording_finish(struct recording *r);

/* Record a job's current state, and its final state. Return 0 or -ENOMEM. */
int recording_see(struct recording *r, const struct ctl_job *job);
int recording_see_ended(struct recording *r, const struct ctl_ended *ended);

/* Writes the workload. Jobs that cannot be described are written as comments. `now_ns`: since 1970,
 * for jobs that still run. Returns the number of jobs written. */
size_t recording_write(const struct recording *r, FILE *out, uint64_t now_ns);

#endif
