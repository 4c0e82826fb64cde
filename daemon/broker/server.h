/* SPDX-License-Identifier: Apache-2.0
 *
 * The broker as a library: who may connect, what a client gets, and that a worker runs. It never
 * opens a device.
 *
 * Owner: the caller. Threads: server_run's, but server_stop may be called from any.
 */
#ifndef DAEMON_BROKER_SERVER_H
#define DAEMON_BROKER_SERVER_H

#include <stddef.h>

#include "daemon/broker/config/config_load.h"
#include "daemon/broker/life/launch.h"

struct server;

/* Takes the run directory's lock, binds both sockets. `sources` (may be NULL) is what SIGHUP reads
 * again and must outlive the server; NULL also means that signals are left alone. On failure -errno
 * and the reason in `why`. */
int server_create(struct server **out, const struct config *config,
                  const struct config_sources *sources, const struct server_hooks *hooks, char *why,
                  size_t cap);

/* Serves until server_stop, SIGTERM or SIGINT; then every client has been told and the worker has
 * ended. -EIO when no worker ever got ready: server_trouble has the reason. */
int server_run(struct server *s);
const char *server_trouble(const struct server *s); /* empty: none */
void server_stop(struct server *s);
void server_destroy(struct server *s);

#endif
