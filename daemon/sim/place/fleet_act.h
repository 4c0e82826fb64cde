/* SPDX-License-Identifier: Apache-2.0
 *
 * Carries out the placer's answers.
 *
 * Owner: fleet_run. Thread: its owner's.
 */
#ifndef DAEMON_SIM_PLACE_FLEET_ACT_H
#define DAEMON_SIM_PLACE_FLEET_ACT_H

#include "daemon/sim/place/fleet_state.h"

/* Returns 0, -ENOMEM, or -EPROTO with a sentence. */
int fleet_act(struct fleet *f);
/* Removes the job from its GPUs; it has ended or waits. Updates its work first. */
void fleet_act_leave(struct fleet *f, uint32_t job, enum fleet_job_state state);
/* Updates the job's work up to now. */
void fleet_act_settle(struct fleet *f, uint32_t job);

/* Writes the sentence to f->why and returns `err`. */
__attribute__((format(printf, 3, 4))) int fleet_fail(struct fleet *f, int err, const char *fmt,
                                                     ...);

#endif
