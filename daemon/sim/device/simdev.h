/* SPDX-License-Identifier: Apache-2.0
 *
 * The simulated device. Each running iteration can use a part u of it alone (its demand); running
 * ones share a capacity of 1 by max-min water-filling: share_i = min(u_i, level), the level being
 * as high as capacity allows, and progress at the rate share_i / u_i. An iteration therefore uses
 * duration * u of the device's time, however it was slowed.
 *
 * Iterations of equal demand always progress at one rate, so they form a class with one clock of
 * progress and a heap of ends on it: an event costs O(demands now running + log running).
 *
 * Owner: the simulator. Threads: one. Nothing below create can fail.
 */
#ifndef DAEMON_SIM_DEVICE_SIMDEV_H
#define DAEMON_SIM_DEVICE_SIMDEV_H

#include <stdint.h>

#include "daemon/sim/workload/workload.h"

#define SIMDEV_NEVER UINT64_MAX

struct simdev;

/* Room for one iteration of each job at a time. 0 or -ENOMEM. */
int simdev_create(struct simdev **out, const struct workload *w);
void simdev_destroy(struct simdev *d); /* accepts NULL */

/* Times never decrease from call to call, and none passes simdev_next without simdev_finished. */
void simdev_start(struct simdev *d, uint64_t now_ns, uint32_t job, uint64_t duration_ns);
/* When the next iteration ends; SIMDEV_NEVER while none runs. */
uint64_t simdev_next(struct simdev *d);
/* Takes those that have ended: fills `jobs` in ascending order; returns how many. */
uint32_t simdev_finished(struct simdev *d, uint64_t now_ns, uint32_t *jobs);

uint32_t simdev_running(const struct simdev *d);
/* Integrals over time: at least one running; the number running. */
double simdev_active_ns(const struct simdev *d);
double simdev_running_ns(const struct simdev *d);

#endif
