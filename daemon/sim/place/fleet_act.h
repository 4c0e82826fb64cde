/* SPDX-License-Identifier: Apache-2.0
 *
 * The answers of the placer, carried out.
 *
 * Owner: fleet_run. Thread: its.
 */
#ifndef DAEMON_SIM_PLACE_FLEET_ACT_H
#define DAEMON_SIM_PLACE_FLEET_ACT_H

#include "daemon/sim/place/fleet_state.h"

/* 0, -EPROTO with a sentence, -ENOMEM. */
int fleet_act(struct fleet *f);
/* The job leaves its GPUs, and is over or waits. Its work is reckoned. */
void fleet_act_leave(struct fleet *f, uint32_t job, enum fleet_job_state state);
/* Reckons the work of the job up to now. */
void fleet_act_settle(struct fleet *f, uint32_t job);

/* Writes the sentence to f->why and returns `err`. */
__attribute__((format(printf, 3, 4))) int fleet_fail(struct fleet *f, int err, const char *fmt,
                                                     ...);

#endif
