/* SPDX-License-Identifier: Apache-2.0
 *
 * The operation that a client has had on the device for long. It is published on the completion
 * page for the broker ten times a second, never by the operation itself. An endless kernel thus has
 * a name, an age, and its device time so far. Thread: the worker's.
 */
#ifndef DAEMON_WORKER_OPERATIONS_STATUS_PAGE_H
#define DAEMON_WORKER_OPERATIONS_STATUS_PAGE_H

#include <stdint.h>

struct client;
struct op;
struct worker;

/* Interval of updates while an operation is in flight. */
#define STATUS_PAGE_EVERY_NS 100000000ull
#define STATUS_PAGE_LEAST_NS 100000000ull /* younger operations are not published */

/* Updates every client's page; the loop calls it when it is due. */
void status_page_update(struct worker *w);
/* The time of the next update; UINT64_MAX: nothing is in flight. */
uint64_t status_page_next_ns(const struct worker *w);

/* The published operation (client.shown) is complete: adds its time and withdraws it, in one step.
 */
void status_page_over(struct client *c, const struct op *op);

#endif
