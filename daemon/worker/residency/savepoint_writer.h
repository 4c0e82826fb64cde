/* SPDX-License-Identifier: Apache-2.0
 *
 * Savepoints (estate/savepoint.h) of clients that asked for them: at a boundary of its
 * iterations, or when all that it sent is complete, its memory is saved, a part of it in each round
 * of the loop; until then the boundary is not passed, or no more is read. How often the
 * configuration says, and no more than a twentieth of the client's time is spent on it.
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

/* At a boundary, before it is passed. True: it is saved first, and the boundary is looked at again
 * when it is over. */
bool savepoint_writer_begins(struct client *c);
/* All that it sent may be complete. */
void savepoint_writer_look(struct client *c);
/* The next part of each; how many clients there were. */
unsigned savepoint_writer_step(struct worker *w);

/* The module was just placed, and nothing of it has run: a savepoint that counts has its variables
 * from now on, too. `again`: an earlier worker had placed it, and it may have. 0, or
 * ERR_DEVICE_LOST: it could not be seen to. */
int savepoint_writer_module(struct client *c, const struct module *m, bool again);
/* Of an earlier worker's client, before anything of it is read: where it has no savepoint, and
 * nothing of it was under way, its memory is saved first. */
void savepoint_writer_restored(struct client *c);
/* A copy is about to be given to the device: what it brings from host memory is kept. */
void savepoint_writer_copy(struct client *c, const struct op *op);
/* Words of a launch's parameters, or of what is copied: one may be an address of host memory, of
 * which kernels may read what is another the next time. */
void savepoint_writer_words(struct client *c, const void *bytes, uint64_t count);
/* The client was told this address of a variable. */
void savepoint_writer_address(struct client *c, uint64_t addr);

#endif
