/* SPDX-License-Identifier: Apache-2.0
 *
 * The broker as a library: decides who may connect and what a client gets, and keeps workers
 * running. It never opens a device.
 *
 * Owner: the caller. Threads: server_run's; server_stop may be called from any.
 */
#ifndef DAEMON_BROKER_SERVER_H
#define DAEMON_BROKER_SERVER_H

#include <stddef.h>

#include "daemon/broker/config/config_load.h"
#include "daemon/broker/life/launch.h"

struct server;

/* Locks the run directory and binds both sockets. `sources` (may be NULL) is read again at SIGHUP
 * and must outlive the server; NULL also leaves signals alone. Returns -errno with the reason in
 * `why`. */
int server_create(struct server **out, const struct config *config,
                  const struct config_sources *sources, const struct server_hooks *hooks, char *why,
                  size_t cap);

/* Serves until server_stop, SIGTERM or SIGINT. On return every client has been told and the worker
 * has ended. Returns -EIO when no worker ever became ready; server_trouble gives the reason. */
int server_run(struct server *s);
const char *server_trouble(const struct server *s); /* trouble of GPU 0's worker; empty: none */
void server_stop(struct server *s);
void server_destroy(struct server *s);

#endif
