/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the clients' memory is: the chunks of each lane, and who of a lane is out of it for a
 * while. What the scheduler decides about lanes, turns, leases and swapping is carried out here, in
 * the order of its actions.
 *
 * Besides, a client whose survivors found no room as private chunks (client.stranded) is taken to
 * host memory before another one uses the lane, and comes back before it runs again.
 *
 * Owner: the worker. Thread: its own.
 */
#ifndef DAEMON_WORKER_RESIDENCY_RESIDENCY_H
#define DAEMON_WORKER_RESIDENCY_RESIDENCY_H

#include <stdbool.h>

#include "daemon/sched/sched.h"

struct client;
struct worker;

/* One action, but for RUN, GRANT, DENY and ARM: it is done as far as this round goes. */
void residency_act(struct worker *w, const struct sched_action *a);
/* A new round: how many moves went on. */
unsigned residency_go_on(struct worker *w);

/* Whatever of the client is not on the device comes back, before it runs: `parks` until it is all
 * there, and its lane clear. It may die of it. */
void residency_return(struct client *c);
bool residency_parks(const struct client *c);

/* The client is over. What else was to be done to it is not; its memory is given back, and waited
 * for by who comes behind. */
void residency_end(struct client *c);
/* And from now on it may be: nothing of the client is on the device, nor is any errand of it. */
void residency_give(struct client *c);
/* All that is left of it, at once. */
void residency_finish(struct client *c);

#endif
