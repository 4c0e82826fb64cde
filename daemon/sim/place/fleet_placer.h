/* SPDX-License-Identifier: Apache-2.0
 *
 * The placement library as a fleet's placer.
 */
#ifndef DAEMON_SIM_PLACE_FLEET_PLACER_H
#define DAEMON_SIM_PLACE_FLEET_PLACER_H

#include "daemon/sim/place/fleet.h"

/* Wraps a policy of daemon/place as a placer. */
struct fleet_placer fleet_placer_of(struct place *p);

#endif
