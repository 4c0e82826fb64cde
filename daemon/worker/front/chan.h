/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading the clients' rings: one private copy of each record, validated before anybody acts on it.
 */
#ifndef DAEMON_WORKER_FRONT_CHAN_H
#define DAEMON_WORKER_FRONT_CHAN_H

#include <stdbool.h>

struct worker;

/* Reads a bounded share of every client's ring: how many records. */
unsigned chan_sweep(struct worker *w);
/* Nothing came for a moment: clients are given all the room that their rings have. */
void chan_idle(struct worker *w);
/* Every client's doorbell is to be rung from now on. Look at chan_ready before going to sleep. */
void chan_arm(struct worker *w);
void chan_disarm(struct worker *w);
/* True when a sweep would find something. */
bool chan_ready(struct worker *w);

#endif
