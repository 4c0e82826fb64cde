/* SPDX-License-Identifier: Apache-2.0
 *
 * A client that got the turn of a lane in which another owner left bytes: they are cleared before
 * it runs, a few chunks each time round the loop, so that nobody else waits for it. What the
 * scheduler lets run of it meanwhile is parked.
 *
 * Owner: the worker. Thread: its own.
 */
#ifndef DAEMON_WORKER_RESIDENCY_LANE_CLEAR_H
#define DAEMON_WORKER_RESIDENCY_LANE_CLEAR_H

#include <stdbool.h>
#include <stdint.h>

struct client;
struct op;

/* The client has its lane's turn. It may die of it. */
void lane_clear_begin(struct client *c);
/* Until this is false, what the scheduler lets run of it is parked. */
bool lane_clear_pending(const struct client *c);
void lane_clear_park(struct client *c, struct op *op);
/* The next chunks. True: all is clear. */
bool lane_clear_step(struct client *c);
/* No longer: returns what was parked, which goes on, or ends when the client is dead. */
struct op *lane_clear_end(struct client *c);
/* What was cleared for it so far is counted where others see it. */
void lane_clear_count(struct client *c);

#endif
