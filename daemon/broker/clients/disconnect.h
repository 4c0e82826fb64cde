/* SPDX-License-Identifier: Apache-2.0
 *
 * Ends of a client caused by others: the worker, an operator, its user's excess, or ourselves. A
 * client that is a job learns of it at its next call; another is refused.
 */
#ifndef DAEMON_BROKER_CLIENTS_DISCONNECT_H
#define DAEMON_BROKER_CLIENTS_DISCONNECT_H

#include "daemon/broker/clients/client.h"

/* disconnect_spoke: the client sent an invalid message, as `why` tells. disconnect_expelled: the
 * worker expelled the client, as `msg` tells. */
void disconnect_spoke(struct client *c, const char *why);
void disconnect_expelled(struct client *c, const struct wire_worker_msg *msg);
/* The worker ended, and the attachment with it. A client that was promised nothing yet waits for
 * the next worker. */
void disconnect_worker_lost(struct client *c);
/* The next worker cannot have the job, either: the client is told `err`. The attachment's `why` has
 * the reason. */
void disconnect_not_restored(struct client *c, int err);
/* Killed by an operator, `uid`. */
void disconnect_kill(struct client *c, uid_t uid);
/* The client's user exceeds a limit. */
void disconnect_excess(struct client *c, const char *why);
/* salusd stops. */
void disconnect_stop(struct client *c);

#endif
