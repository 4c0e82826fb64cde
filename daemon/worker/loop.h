/* SPDX-License-Identifier: Apache-2.0
 *
 * The worker's loop: sweep, collect, pump, publish; spin for a while when there is nothing, then
 * park on descriptors.
 */
#ifndef DAEMON_WORKER_LOOP_H
#define DAEMON_WORKER_LOOP_H

#include "daemon/worker/worker.h"

/* Until the broker is gone. */
void loop_run(struct worker *w);
/* One round without waiting: how much was done. For tests, and for loop_run. */
unsigned loop_once(struct worker *w);
/* A round at this time, for tests whose time does not pass by itself. */
unsigned loop_at(struct worker *w, uint64_t now_ns);
/* True when nothing is left to do of which no descriptor tells: it may sleep. */
bool loop_idle(const struct worker *w);
/* The device is lost, and the process is to end at once: tells those whom no other worker goes on
 * with. */
void loop_leave(struct worker *w);
/* Ends every client, then the worker. */
void loop_finish(struct worker *w);

#endif
