/* SPDX-License-Identifier: Apache-2.0
 *
 * One handler for each kind of record: is everything it names the client's own, and what follows.
 */
#ifndef DAEMON_WORKER_FRONT_EXEC_H
#define DAEMON_WORKER_FRONT_EXEC_H

#include <stddef.h>
#include <stdint.h>

struct body;
struct client;
struct graph;

/* `rec` is private memory and passed record_check. 0, or ERR_PROTOCOL with `why`: the client sent
 * what no honest one sends and must be expelled. Faults of an honest client are its own affair.
 * `graph`: that it was read of; NULL: it came in the ring. */
int exec_record(struct client *c, const void *rec, struct graph *graph, char *why,
                size_t why_bytes);
/* The same of one that is read into inner streams: its stream is a lane of that. What it says of
 * the client's tables can have become wrong since it was launched, which is the client's fault
 * then. */
int exec_inner(struct client *c, const struct body *body, const void *rec, struct graph *graph,
               char *why, size_t why_bytes);

#endif
