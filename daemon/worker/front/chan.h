/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the clients' rings: one private copy of each record, checked before any code acts on it.
 */
#ifndef DAEMON_WORKER_FRONT_CHAN_H
#define DAEMON_WORKER_FRONT_CHAN_H

#include <stdbool.h>

struct worker;

/* Reads a bounded share of every client's ring; returns the number of records. */
unsigned chan_sweep(struct worker *w);
/* No record came for a moment: publishes all the free space of the rings to the clients. */
void chan_idle(struct worker *w);
/* Asks every client to ring its doorbell from now on. Check chan_ready before going to sleep. */
void chan_arm(struct worker *w);
void chan_disarm(struct worker *w);
/* True when a sweep would find records. */
bool chan_ready(struct worker *w);

#endif
