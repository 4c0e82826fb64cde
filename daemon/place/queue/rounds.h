/* SPDX-License-Identifier: Apache-2.0
 *
 * Algorithm 1: jobs that wait are clustered into queues once a pass, then rounds of beta jobs are
 * tried until no queue has any left.
 *
 * Owner: struct place. Thread: its owner's.
 */
#ifndef DAEMON_PLACE_QUEUE_ROUNDS_H
#define DAEMON_PLACE_QUEUE_ROUNDS_H

#include "daemon/place/state/place_state.h"

void rounds_finish(struct state_rounds *r);
/* Room for so many jobs. 0 or -ENOMEM. */
int rounds_reserve(struct state_rounds *r, uint64_t jobs);

void rounds_run(struct place *p);

#endif
