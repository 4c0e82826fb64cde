/* SPDX-License-Identifier: Apache-2.0
 *
 * The device that a run goes on, at the workload's grain: iterations that share it (simdev.h), or
 * kernels (kdev.h). A job's operations run in the order in which they are handed over.
 *
 * Owner: the simulator. Threads: one. Nothing below create can fail.
 */
#ifndef DAEMON_SIM_DEVICE_DEVICE_H
#define DAEMON_SIM_DEVICE_DEVICE_H

#include <stdint.h>

#include "daemon/sim/device/kdev.h"
#include "daemon/sim/workload/workload.h"

struct device;

/* Room for `depth` operations of each job at a time; at the grain of iterations, for one. What
 * `contention` leaves 0 is as calibrated. 0 or -ENOMEM. */
int device_create(struct device **out, const struct workload *w, uint32_t depth,
                  struct kdev_contention contention);
void device_destroy(struct device *d); /* accepts NULL */

/* Hands over, to begin at `ready_ns` at the earliest. Times never decrease from call to call, and
 * none passes device_next without device_finished. */
void device_iteration(struct device *d, uint64_t now_ns, uint32_t job, uint64_t ready_ns,
                      uint64_t duration_ns);
void device_kernel(struct device *d, uint64_t now_ns, uint32_t job, uint64_t ready_ns,
                   uint32_t kernel, uint32_t level); /* an index into the workload's kernels */

/* Kernels of the job that begin from now on use at most so many SMs; 0: all. Iterations are not
 * kept to any. */
void device_share(struct device *d, uint32_t job, uint32_t sms);
/* Kernels of the job stand still, or go on; only where the device has slices. */
void device_still(struct device *d, uint64_t now_ns, uint32_t job, bool still);
/* When anything happens next; UINT64_MAX while nothing runs. */
uint64_t device_next(struct device *d);
/* The jobs that have an operation which has ended, one each: in ascending order; how many. */
uint32_t device_finished(struct device *d, uint64_t now_ns, uint32_t *jobs);

/* Integrals over time: at least one operation running; the number running. */
double device_active_ns(const struct device *d);
double device_running_ns(const struct device *d);

#endif
