/* SPDX-License-Identifier: Apache-2.0
 *
 * Those that wait are tried, in the policy's order, as long as that may help anybody.
 *
 * Owner: struct place. Thread: its owner's.
 */
#ifndef DAEMON_PLACE_PLACING_H
#define DAEMON_PLACE_PLACING_H

#include "daemon/place/state/state.h"

void placing_pass(struct place *p);

#endif
