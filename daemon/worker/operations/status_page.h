/* SPDX-License-Identifier: Apache-2.0
 *
 * What a client has had on the device for long: shown on its completion page for the broker, ten
 * times a second and never for an operation, so that an endless kernel has a name, an age, and the
 * time that it took so far. Thread: the worker's.
 */
#ifndef DAEMON_WORKER_OPERATIONS_STATUS_PAGE_H
#define DAEMON_WORKER_OPERATIONS_STATUS_PAGE_H

#include <stdint.h>

struct client;
struct op;
struct worker;

#define STATUS_PAGE_EVERY_NS \
    100000000ull /* how often it is looked at while something is in flight */
#define STATUS_PAGE_LEAST_NS 100000000ull /* what is younger is not shown */

/* Of every client; the loop calls it when it is time. */
void status_page_update(struct worker *w);
/* When it is time again; UINT64_MAX: nothing is in flight. */
uint64_t status_page_next_ns(const struct worker *w);

/* The operation that is shown (client.shown) is complete: its time counts, and it is shown no more,
 * in one. */
void status_page_over(struct client *c, const struct op *op);

#endif
