/* SPDX-License-Identifier: Apache-2.0
 *
 * Takes savepoints (recovery/savepoint.h) of clients that asked for them. A client's memory is
 * saved at an iteration boundary, or when all that it sent is complete, a part of it in each round
 * of the loop. Until then the boundary is not passed, or no more is read. The configuration sets
 * the interval, and saving takes at most a twentieth of the client's time.
 *
 * Owner: the worker. Thread: its own.
 */
#ifndef DAEMON_WORKER_RESIDENCY_SAVEPOINT_WRITER_H
#define DAEMON_WORKER_RESIDENCY_SAVEPOINT_WRITER_H

#include <stdbool.h>
#include <stdint.h>

struct client;
struct module;
struct op;
struct worker;

/* Called at a boundary, before it is passed. True: the client is saved first, and the boundary is
 * checked again afterwards. */
bool savepoint_writer_begins(struct client *c);
/* Called when all that the client sent may be complete. Begins to save if that is so and a
 * savepoint is due. */
void savepoint_writer_look(struct client *c);
/* Saves the next part of each client; returns the number of clients. */
unsigned savepoint_writer_step(struct worker *w);

/* The module was just placed, and nothing of it has run: adds its variables to a valid savepoint.
 * `again`: an earlier worker had placed it, so the savepoint may have them. ERR_DEVICE_LOST: the
 * device was lost before they were added; else 0, and the savepoint is void if they could not be
 * added. */
int savepoint_writer_module(struct client *c, const struct module *m, bool again);
/* For an earlier worker's client, before any of its records is read. Saves its memory first if it
 * has no savepoint and nothing of it was in progress. */
void savepoint_writer_restored(struct client *c);
/* A copy is about to be given to the device: records the bytes that it takes from host memory. */
void savepoint_writer_copy(struct client *c, const struct op *op);
/* Checks words of a launch's parameters, or of copied data. If one may be an address of host
 * memory, no savepoint is possible: kernels might read other bytes there the next time. */
void savepoint_writer_words(struct client *c, const void *bytes, uint64_t count);
/* The client was told this address of a variable. */
void savepoint_writer_address(struct client *c, uint64_t addr);

#endif
