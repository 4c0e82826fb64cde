/* SPDX-License-Identifier: Apache-2.0
 *
 * Clears a lane for a client that got its turn after another owner left bytes there. It clears a
 * few chunks in each round of the loop, so that no other client waits. Operations that the
 * scheduler lets run meanwhile are parked.
 *
 * Owner: the worker. Thread: its own.
 */
#ifndef DAEMON_WORKER_RESIDENCY_LANE_CLEAR_H
#define DAEMON_WORKER_RESIDENCY_LANE_CLEAR_H

#include <stdbool.h>
#include <stdint.h>

struct client;
struct op;

/* The client has its lane's turn. A failure ends the client. */
void lane_clear_begin(struct client *c);
/* While this is true, operations that the scheduler lets run are parked. */
bool lane_clear_pending(const struct client *c);
void lane_clear_park(struct client *c, struct op *op);
/* Clears the next chunks. True: all is clear. */
bool lane_clear_step(struct client *c);
/* Ends the clearing and returns the parked operations. They run, or end when the client is dead. */
struct op *lane_clear_end(struct client *c);
/* Publishes the bytes cleared for the client so far. */
void lane_clear_count(struct client *c);

#endif
