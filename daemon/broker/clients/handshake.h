/* SPDX-License-Identifier: Apache-2.0
 *
 * A client's steps from hello to welcome. Its connection was accepted before (clients.c), if its
 * user may have another one (users.c). Here its hello is checked, its job completed from profiles
 * and configuration, and windows are tried until both sides can use them. After that the client
 * sends only its command line and files (job_claims.h, fd_forward.h); the end of the socket or of
 * the process ends the job.
 */
#ifndef DAEMON_BROKER_CLIENTS_HANDSHAKE_H
#define DAEMON_BROKER_CLIENTS_HANDSHAKE_H

#include "daemon/broker/clients/client.h"

/* Handle the client's two messages. The client may be closed when these return. */
void handshake_hello(struct client *c, const void *msg, size_t bytes);
void handshake_answer(struct client *c, const void *msg, size_t bytes);

/* Chooses a GPU and offers the job to its worker, or waits for a worker that is not ready. Refuses,
 * and closes, a client that no GPU can serve. */
void handshake_begin(struct client *c);

/* Handles the worker's answer to ATTACH, with the descriptors of attachments_see (-1: none came;
 * FDUTIL_LOST as -EMFILE). Returns ERR_PROTOCOL if nothing was asked. */
int handshake_attached(struct client *c, const struct wire_worker_msg *msg, int fds[2]);

/* The worker ended before anything was promised: the next worker takes the client, or another
 * GPU's. */
void handshake_again(struct client *c);

#endif
