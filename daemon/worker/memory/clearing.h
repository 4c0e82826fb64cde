/* SPDX-License-Identifier: Apache-2.0
 *
 * A client that got the turn of a lane in which another owner left bytes: they are cleared before
 * it runs, a few chunks each time round the loop, so that nobody else waits for it. What the
 * scheduler lets run of it meanwhile is parked.
 *
 * Owner: the worker. Thread: its own.
 */
#ifndef DAEMON_WORKER_MEMORY_CLEARING_H
#define DAEMON_WORKER_MEMORY_CLEARING_H

#include <stdbool.h>
#include <stdint.h>

struct client;
struct op;
struct worker;

/* Whose bytes the client writes, by what the configuration says. */
uint64_t clearing_owner(const struct client *c);
/* The client has its lane's turn. It may die of it. */
void clearing_begin(struct client *c);
/* Until this is false, what the scheduler lets run of it is parked. */
bool clearing_pending(const struct client *c);
void clearing_park(struct client *c, struct op *op);
/* The next chunks of each; how many clients went on. Not while actions are being carried out. */
unsigned clearing_step(struct worker *w);
/* It is dead: what is parked ends. At a safe point, before the scheduler hears of it. */
void clearing_forget(struct client *c);
/* What was cleared for it so far is counted where others see it. */
void clearing_count(struct client *c);

#endif
