/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks the memory cells that streams wait for (watch.h), wherever their bytes currently are. A
 * wait holds only its stream. The scheduler and the device know nothing of it, and it ends when the
 * value comes or with its client. A job that waits for ever hangs alone: its turn ends with its
 * lease, as that of any job without work.
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

/* Begins a wait that is its stream's first operation. True: the value is there, the wait is
 * complete, and the caller retires it. */
bool value_wait_begin(struct client *c, struct op *op);
/* Checks some cells of each waiting client, so that no client's waits delay the others. Returns the
 * number of streams that continue. */
unsigned value_wait_look(struct worker *w);
/* The time of the next check; UINT64_MAX: no client waits. */
uint64_t value_wait_next_ns(const struct worker *w);

#endif
