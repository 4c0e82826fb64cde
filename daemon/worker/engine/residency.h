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
#ifndef DAEMON_WORKER_ENGINE_RESIDENCY_H
#define DAEMON_WORKER_ENGINE_RESIDENCY_H

#include "daemon/sched/sched.h"

struct client;
struct worker;

/* One action, but for RUN, GRANT, DENY and ARM. */
void residency_act(struct worker *w, const struct sched_action *a);
/* Whatever of the client is not on the device comes back, before it runs. It may die of it. It is
 * `away` afterwards only while its lane is being cleared, or when it died. */
void residency_return(struct client *c);
/* The client's memory is gone. */
void residency_leave(struct client *c);

#endif
