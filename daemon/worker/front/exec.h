/* SPDX-License-Identifier: Apache-2.0
 *
 * One handler for each kind of record. It checks that every object named is the client's own, then
 * carries the record out.
 */
#ifndef DAEMON_WORKER_FRONT_EXEC_H
#define DAEMON_WORKER_FRONT_EXEC_H

#include <stddef.h>
#include <stdint.h>

struct body;
struct client;
struct graph;

/* `rec` is private memory and passed record_check. Returns 0, or ERR_PROTOCOL with `why`: no
 * correct client sends this, and the client must be expelled. A correct client's faults affect that
 * client alone. `graph`: the graph that has the record; NULL: it came in the ring. */
int exec_record(struct client *c, const void *rec, struct graph *graph, char *why,
                size_t why_bytes);
/* Likewise for a record read into inner streams; its stream is a lane of the body. Objects that the
 * record names may have changed since the graph's launch. That is a fault of the client, not a
 * broken protocol. */
int exec_inner(struct client *c, const struct body *body, const void *rec, struct graph *graph,
               char *why, size_t why_bytes);

#endif
