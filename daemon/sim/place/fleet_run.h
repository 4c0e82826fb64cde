/* SPDX-License-Identifier: Apache-2.0
 *
 * A run of a fleet, from the first arrival to the last end (fleet.h).
 */
#ifndef DAEMON_SIM_PLACE_FLEET_RUN_H
#define DAEMON_SIM_PLACE_FLEET_RUN_H

#include "daemon/sim/place/fleet.h"

/* 0; -EPROTO: the placer broke the contract of place.h; -ENOMEM. With a sentence in `why`, of
 * FLEET_WHY_BYTES. */
int fleet_run(const struct jobset *set, const struct fleet_rules *rules,
              const struct fleet_placer *placer, struct fleet_result *out, char *why);
void fleet_result_finish(struct fleet_result *r);

#endif
