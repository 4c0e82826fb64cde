/* SPDX-License-Identifier: Apache-2.0
 *
 * The simulated device of a run, at the workload's grain: iterations that share the device
 * (simdev.h), or kernels (kdev.h). A job's operations run in the order in which they are submitted.
 *
 * Owner: the simulator. Threads: one. No function after device_create can fail.
 */
#ifndef DAEMON_SIM_DEVICE_DEVICE_H
#define DAEMON_SIM_DEVICE_DEVICE_H

#include <stdint.h>

#include "daemon/sim/device/kdev.h"
#include "daemon/sim/workload/workload.h"

struct device;

/* `depth`: most operations per job at a time; for the grain of iterations, 1. Zero members of
 * `contention` take calibrated values. Returns 0 or -ENOMEM. */
int device_create(struct device **out, const struct workload *w, uint32_t depth,
                  struct kdev_contention contention);
void device_destroy(struct device *d); /* accepts NULL */

/* Submit an operation that begins at `ready_ns` at the earliest. Times never decrease between
 * calls. Before a call with a time past device_next, device_finished must be called. */
void device_iteration(struct device *d, uint64_t now_ns, uint32_t job, uint64_t ready_ns,
                      uint64_t duration_ns);
void device_kernel(struct device *d, uint64_t now_ns, uint32_t job, uint64_t ready_ns,
                   uint32_t kernel, uint32_t level); /* kernel: index into the workload's kernels */

/* Limits kernels of the job that begin from now on to this many SMs; 0: all. Does not affect
 * iterations. */
void device_share(struct device *d, uint32_t job, uint32_t sms);
/* Pauses or resumes kernels of the job; only on a device with slices. */
void device_still(struct device *d, uint64_t now_ns, uint32_t job, bool still);
/* Time of the next event; UINT64_MAX while nothing runs. */
uint64_t device_next(struct device *d);
/* Writes the jobs with a completed operation, one operation each, in ascending order; returns their
 * number. */
uint32_t device_finished(struct device *d, uint64_t now_ns, uint32_t *jobs);

/* Integrals over time: of "at least one operation runs", and of the number running. */
double device_active_ns(const struct device *d);
double device_running_ns(const struct device *d);

#endif
