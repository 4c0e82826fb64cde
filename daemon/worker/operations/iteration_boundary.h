/* SPDX-License-Identifier: Apache-2.0
 *
 * A client's iterations: where its records begin one, and what is done between two (Salus, section
 * 3.3.1: fragmentation and switching are dealt with at iteration boundaries).
 *
 * Everything an operation waits for was sent before it, so what is current always ends without what
 * is not read (boundary.h). Values of memory are the exception: while a stream waits for one, no
 * iteration begins. Where the current iteration is held up by what the client does outside the ring
 * (a host function, a kernel that waits for the host), reading goes on after a while and the two
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

/* What the records say. A launch is pushed here, or held. 0 or -ENOMEM, with `op` still the
 * caller's. `fingerprint`: of its function in its shape. */
int iteration_boundary_launch(struct client *c, struct stream *s, struct op *op,
                              uint64_t fingerprint);
/* The same of a copy or a fill, which writes `bytes` at `addr`. `to_host`: it brings results. */
int iteration_boundary_transfer(struct client *c, struct stream *s, struct op *op, bool to_host,
                                uint64_t addr, uint64_t bytes);
void iteration_boundary_mark(struct client *c);
/* The program waited, and nothing of it is queued. */
void iteration_boundary_idle(struct client *c);

/* The current iteration is looked at. If it is complete, and the client lives: survivors are kept,
 * the scheduler is told, the next one begins. At a safe point only. */
void iteration_boundary_look(struct client *c);
/* And again, of those whose survivors are kept in parts: how many they are. */
unsigned iteration_boundary_go_on(struct worker *w);
/* The client is dead: what is held is pushed, and completes at once like the rest. */
void iteration_boundary_forget(struct client *c);
/* Lets those read on whose current iteration does not get on by itself, passes boundaries after
 * which nothing came, and ends iterations whose client has been idle for long enough. */
void iteration_boundary_relent(struct worker *w);

#endif
