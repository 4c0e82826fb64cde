/* SPDX-License-Identifier: Apache-2.0
 *
 * Algorithm 1: clusters waiting jobs into queues once per pass, then tries rounds of beta jobs
 * until all queues are empty.
 *
 * Owner: struct place. Thread: its owner's.
 */
#ifndef DAEMON_PLACE_QUEUE_ROUNDS_H
#define DAEMON_PLACE_QUEUE_ROUNDS_H

#include "daemon/place/state/place_state.h"

void rounds_finish(struct state_rounds *r);
/* Reserves memory for this many jobs. Returns 0 or -ENOMEM. */
int rounds_reserve(struct state_rounds *r, uint64_t jobs);

void rounds_run(struct place *p);

#endif
