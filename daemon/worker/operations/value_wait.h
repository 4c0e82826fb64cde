/* SPDX-License-Identifier: Apache-2.0
 *
 * Looks at the cells that streams wait for (watch.h), wherever their bytes are just now. A wait
 * holds nothing but its stream: it is neither the scheduler's nor on the device, and ends when the
 * value comes or with its client. A job that waits for ever hangs alone: its turn ends with its
 * lease, as that of any job that has nothing to run.
 *
 * Owner: the worker. Thread: its own.
 */
#ifndef DAEMON_WORKER_OPERATIONS_VALUE_WAIT_H
#define DAEMON_WORKER_OPERATIONS_VALUE_WAIT_H

#include <stdbool.h>
#include <stdint.h>

struct client;
struct op;
struct worker;

/* A wait that is its stream's first operation. True: what it waits for is there, it is complete,
 * and the caller retires it. */
bool value_wait_begin(struct client *c, struct op *op);
/* Clients that wait, some cells of each, so that nobody's waits delay the others: how many streams
 * go on. */
unsigned value_wait_look(struct worker *w);
/* When that is to be called again; UINT64_MAX: nobody waits. */
uint64_t value_wait_next_ns(const struct worker *w);

#endif
