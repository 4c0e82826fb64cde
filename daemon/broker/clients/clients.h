/* SPDX-License-Identifier: Apache-2.0
 *
 * All clients: who comes, what their sockets and processes say, and what is told to all of them.
 */
#ifndef DAEMON_BROKER_CLIENTS_CLIENTS_H
#define DAEMON_BROKER_CLIENTS_CLIENTS_H

#include "daemon/broker/clients/client.h"

/* A connection to job.sock, which becomes theirs. */
void clients_accept(struct clients *clients, int fd);

/* Those who waited for the GPU's worker go on. / None will come: they are told, or go elsewhere. */
void clients_worker_ready(struct clients *clients, const struct gpu *g);
void clients_worker_failed(struct clients *clients, const struct gpu *g);
void clients_stop(struct clients *clients); /* all are ended */

#endif
