/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes a client's records into the log of its recovery state before they are carried out. A
 * client whose recovery state is incomplete costs nothing more.
 */
#ifndef DAEMON_WORKER_REPLAY_LOG_APPEND_H
#define DAEMON_WORKER_REPLAY_LOG_APPEND_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/worker/client.h"

/* Logs a checked record from the ring or (`graph`) from a graph that is being read. */
void log_append_record(struct client *c, const struct wire_record *rec, uint32_t bytes, bool graph);
/* Makes the savepoint void if this record requires it, also when it is read again. No savepoint is
 * possible until the record has taken effect. */
void log_append_savepoint(struct client *c, uint16_t op);

/* Marks the latest record, a MODULE_LOAD or a FUNC_GET, as refused. */
void log_append_refused(struct client *c);
/* Marks the latest record, the last GRAPH_DATA of a graph: the graph has bodies. */
void log_append_bodies(struct client *c);
/* Space for the image of the latest record, a MODULE_LOAD, for the caller to fill; NULL: it is not
 * logged. */
void *log_append_image(struct client *c);
/* The image is filled and the module placed: logs the place. */
void log_append_module(struct client *c, const struct module *m);

#endif
