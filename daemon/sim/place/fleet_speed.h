/* SPDX-License-Identifier: Apache-2.0
 *
 * Speeds: what jobs on a GPU are to each other.
 *
 * Owner: fleet_run. Thread: its.
 */
#ifndef DAEMON_SIM_PLACE_FLEET_SPEED_H
#define DAEMON_SIM_PLACE_FLEET_SPEED_H

#include "daemon/sim/place/fleet_state.h"

/* Called after a change on this GPU. */
void fleet_speed_of_gpu(struct fleet *f, uint32_t gpu);
/* The job's speed, by all of its GPUs. */
double fleet_speed_of_job(const struct fleet *f, uint32_t job);

#endif
