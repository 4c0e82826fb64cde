/* SPDX-License-Identifier: Apache-2.0
 *
 * Speeds of jobs, and their effect on each other.
 *
 * Owner: fleet_run. Thread: its owner's.
 */
#ifndef DAEMON_SIM_PLACE_FLEET_SPEED_H
#define DAEMON_SIM_PLACE_FLEET_SPEED_H

#include "daemon/sim/place/fleet_state.h"

/* Called after a change on this GPU. */
void fleet_speed_of_gpu(struct fleet *f, uint32_t gpu);
/* The job's speed, considering all its GPUs. */
double fleet_speed_of_job(const struct fleet *f, uint32_t job);

#endif
