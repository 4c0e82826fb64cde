/* SPDX-License-Identifier: Apache-2.0
 *
 * All clients: new connections, the events of their sockets and processes, and messages to all of
 * them.
 */
#ifndef DAEMON_BROKER_CLIENTS_CLIENTS_H
#define DAEMON_BROKER_CLIENTS_CLIENTS_H

#include "daemon/broker/clients/client.h"

/* Takes over a connection to job.sock. */
void clients_accept(struct clients *clients, int fd);

/* clients_worker_ready: clients that waited for the GPU's worker continue. clients_worker_failed:
 * no worker will come; the clients are told, or go elsewhere. */
void clients_worker_ready(struct clients *clients, const struct gpu *g);
void clients_worker_failed(struct clients *clients, const struct gpu *g);
void clients_stop(struct clients *clients); /* ends all clients */

#endif
