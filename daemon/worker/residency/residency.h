/* SPDX-License-Identifier: Apache-2.0
 *
 * The place of the clients' memory: the chunks of each lane, and which clients of a lane are
 * spilled. The scheduler's decisions about lanes, turns, leases and swapping are carried out here,
 * in the order of its actions.
 *
 * A client whose survivors found no room as private chunks (client.stranded) is also moved to host
 * memory before another client uses the lane. It comes back before it runs again.
 *
 * Owner: the worker. Thread: its own.
 */
#ifndef DAEMON_WORKER_RESIDENCY_RESIDENCY_H
#define DAEMON_WORKER_RESIDENCY_RESIDENCY_H

#include <stdbool.h>

#include "daemon/sched/sched.h"

struct client;
struct worker;

/* Carries out one action as far as this round allows: ADMIT, REFUSE, MOVE, SWITCH, SPILL, RESTORE,
 * SWAP_OUT, SWAP_IN or LANE. */
void residency_act(struct worker *w, const struct sched_action *a);
/* Continues the moves in a new round; returns how many made progress. */
unsigned residency_go_on(struct worker *w);

/* Moves a client's memory back to the device before it runs. residency_parks is true until all is
 * there and its lane is clear. A failure ends the client. */
void residency_return(struct client *c);
bool residency_parks(const struct client *c);

/* The client ends. Its other moves are dropped. Its memory will be released, and later moves wait
 * for that. */
void residency_end(struct client *c);
/* Allows the release: the device has no operation of the client, and no background task of it runs.
 */
void residency_give(struct client *c);
/* Releases all that is left of the client, at once. */
void residency_finish(struct client *c);

#endif
