/* SPDX-License-Identifier: Apache-2.0
 *
 * Tries the waiting jobs in the policy's order, as long as that can help any of them.
 *
 * Owner: struct place. Thread: its owner's.
 */
#ifndef DAEMON_PLACE_QUEUE_PASS_H
#define DAEMON_PLACE_QUEUE_PASS_H

#include "daemon/place/state/place_state.h"

void pass_run(struct place *p);

#endif
