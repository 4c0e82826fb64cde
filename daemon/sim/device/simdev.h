/* SPDX-License-Identifier: Apache-2.0
 *
 * The simulated device at the grain of iterations. Each running iteration can use a fraction u of
 * the device alone (its demand). Running iterations share a capacity of 1 by max-min water-filling:
 * share_i = min(u_i, level), with the highest possible level, and progress at the rate share_i /
 * u_i. An iteration therefore uses duration * u of the device's time, however much it was slowed.
 *
 * Iterations of equal demand always progress at the same rate. They form a class with one clock of
 * progress and a heap of ends on that clock: an event costs O(demands now running + log running).
 *
 * Owner: the simulator. Threads: one. No function after simdev_create can fail.
 */
#ifndef DAEMON_SIM_DEVICE_SIMDEV_H
#define DAEMON_SIM_DEVICE_SIMDEV_H

#include <stdint.h>

#include "daemon/sim/workload/workload.h"

#define SIMDEV_NEVER UINT64_MAX

struct simdev;

/* Allocates space for one iteration per job at a time. Returns 0 or -ENOMEM. */
int simdev_create(struct simdev **out, const struct workload *w);
void simdev_destroy(struct simdev *d); /* accepts NULL */

/* Times never decrease between calls. Before a call with a time past simdev_next, simdev_finished
 * must be called. */
void simdev_start(struct simdev *d, uint64_t now_ns, uint32_t job, uint64_t duration_ns);
/* When the next iteration ends; SIMDEV_NEVER while none runs. */
uint64_t simdev_next(struct simdev *d);
/* Removes the iterations that have ended: fills `jobs` in ascending order; returns their number. */
uint32_t simdev_finished(struct simdev *d, uint64_t now_ns, uint32_t *jobs);

uint32_t simdev_running(const struct simdev *d);
/* Integrals over time: of "at least one iteration runs", and of the number running. */
double simdev_active_ns(const struct simdev *d);
double simdev_running_ns(const struct simdev *d);

#endif
