/* SPDX-License-Identifier: Apache-2.0
 *
 * A client's iterations: which records begin one, and the work between two of them (Salus, section
 * 3.3.1: fragmentation and switching are dealt with at iteration boundaries).
 *
 * An operation waits only for earlier ones, so the current iteration always ends without records
 * that are not read (boundary.h). Values of memory are the exception: while a stream waits for one,
 * no iteration begins. The current iteration may depend on the client outside the ring (a host
 * function, a kernel that waits for the host). Then reading continues after a while, and the two
 * iterations count as one (iteration_boundary_relent).
 *
 * Owner: the worker. Thread: its own.
 */
#ifndef DAEMON_WORKER_OPERATIONS_ITERATION_BOUNDARY_H
#define DAEMON_WORKER_OPERATIONS_ITERATION_BOUNDARY_H

#include <stdbool.h>
#include <stdint.h>

struct client;
struct op;
struct stream;
struct worker;

/* Handles a launch: pushes it, or holds it back. Returns 0, or -ENOMEM with `op` still the
 * caller's. `fingerprint`: of its function in its shape. */
int iteration_boundary_launch(struct client *c, struct stream *s, struct op *op,
                              uint64_t fingerprint);
/* Handles a copy or a fill, which writes `bytes` at `addr`, likewise. `to_host`: it brings results.
 */
int iteration_boundary_transfer(struct client *c, struct stream *s, struct op *op, bool to_host,
                                uint64_t addr, uint64_t bytes);
void iteration_boundary_mark(struct client *c);
/* The program has waited for the device, and none of its work is queued. */
void iteration_boundary_idle(struct client *c);

/* Checks the current iteration. If it is complete, and the client lives: survivors are kept, the
 * scheduler is told, the next iteration begins. Called at a safe point only. */
void iteration_boundary_look(struct client *c);
/* Checks again the clients whose survivors are kept in parts; returns their number. */
unsigned iteration_boundary_go_on(struct worker *w);
/* The client is dead: held operations are pushed, and complete at once like the rest. */
void iteration_boundary_forget(struct client *c);
/* Lets clients be read further whose current iteration makes no progress by itself. Passes
 * boundaries after which nothing came, and ends iterations of clients that have been idle long
 * enough. */
void iteration_boundary_relent(struct worker *w);

#endif
