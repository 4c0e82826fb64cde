/* SPDX-License-Identifier: Apache-2.0
 *
 * A client's steps from hello to welcome: checked, its job completed from what we know, windows
 * tried until both sides can use them. After that its socket carries nothing; its end, or the
 * process's, ends the job.
 */
#ifndef DAEMON_BROKER_CLIENTS_HANDSHAKE_H
#define DAEMON_BROKER_CLIENTS_HANDSHAKE_H

#include "daemon/broker/clients/client.h"

/* Its two messages. Whatever they are, the client may be closed when these return. */
void handshake_hello(struct client *c, const void *msg, size_t bytes);
void handshake_answer(struct client *c, const void *msg, size_t bytes);

/* It goes on, or waits until there is a worker. */
void handshake_begin(struct client *c);

/* The worker's answer to ATTACH with the descriptors of attachments_see (-1: none came; FDUTIL_LOST
 * as -EMFILE). ERR_PROTOCOL: nothing was asked. */
int handshake_attached(struct client *c, const struct wire_worker_msg *msg, int fds[2]);

/* The worker went; nothing was promised yet: the next one takes it, or another GPU's. */
void handshake_again(struct client *c);

#endif
