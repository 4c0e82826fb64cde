/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs a fleet from the first arrival to the last end (fleet.h).
 */
#ifndef DAEMON_SIM_PLACE_FLEET_RUN_H
#define DAEMON_SIM_PLACE_FLEET_RUN_H

#include "daemon/sim/place/fleet.h"

/* Returns 0, -ENOMEM, or -EPROTO if the placer broke the contract of place.h, with a sentence in
 * `why` (FLEET_WHY_BYTES). */
int fleet_run(const struct jobset *set, const struct fleet_rules *rules,
              const struct fleet_placer *placer, struct fleet_result *out, char *why);
void fleet_result_finish(struct fleet_result *r);

#endif
