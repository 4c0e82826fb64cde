/* SPDX-License-Identifier: Apache-2.0
 *
 * The worker's loop: sweep, collect, pump, publish. It spins for a while when there is no work,
 * then sleeps on descriptors.
 */
#ifndef DAEMON_WORKER_LOOP_H
#define DAEMON_WORKER_LOOP_H

#include "daemon/worker/worker.h"

/* Runs until w->link.over: the broker has ended, or the device is lost. */
void loop_run(struct worker *w);
/* Runs one round without waiting and returns the amount of work done. For tests and loop_run. */
unsigned loop_once(struct worker *w);
/* Runs a round at this time, for tests that set the time themselves. */
unsigned loop_at(struct worker *w, uint64_t now_ns);
/* True when the loop may sleep: any remaining work announces itself through a descriptor. */
bool loop_idle(const struct worker *w);
/* Called when the device is lost and the process must end at once. Tells the clients that no next
 * worker can serve. */
void loop_leave(struct worker *w);
/* Ends every client, then the worker. */
void loop_finish(struct worker *w);

#endif
