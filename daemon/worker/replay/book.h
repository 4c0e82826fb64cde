/* SPDX-License-Identifier: Apache-2.0
 *
 * What is read of a client goes into the log of its estate, before it is acted on. A client whose
 * estate lacks something costs nothing more.
 */
#ifndef DAEMON_WORKER_REPLAY_BOOK_H
#define DAEMON_WORKER_REPLAY_BOOK_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/worker/client.h"

/* A checked record, of the ring or (`graph`) of a graph that is being read. */
void book_record(struct client *c, const struct wire_record *rec, uint32_t bytes, bool graph);
/* The same, of who has savepoints, also when it is read again: such a record may make the latest
 * void, and there is none before it is over. */
void book_savepoint(struct client *c, uint16_t op);

/* Of the latest, a MODULE_LOAD or a FUNC_GET: nothing came of it. */
void book_refused(struct client *c);
/* Of the latest, the last GRAPH_DATA of a graph: it has bodies. */
void book_bodies(struct client *c);
/* Of the latest, a MODULE_LOAD: room for its image, to be filled; NULL: it is not kept. */
void *book_image(struct client *c);
/* It is filled, and the module is placed. */
void book_module(struct client *c, const struct module *m);

#endif
