/* SPDX-License-Identifier: Apache-2.0
 *
 * Ends of a client that others bring about: the worker, an operator, its user's excess, ours. One
 * that is a job already learns it from its next call, one that is not yet is refused.
 */
#ifndef DAEMON_BROKER_CLIENTS_ENDING_H
#define DAEMON_BROKER_CLIENTS_ENDING_H

#include "daemon/broker/clients/client.h"

/* It broke the protocol, by what it said. */
void ending_spoke(struct client *c, const char *why);
void ending_expelled(struct client *c, const struct wire_worker_msg *msg);
/* The worker ended, and the attachment is gone with it. One to which nothing was promised yet waits
 * for the next worker. */
void ending_worker_lost(struct client *c);
/* The next worker will not have the job, either: `err` is what it is told, `a->why` the reason. */
void ending_not_restored(struct client *c, int err);
/* By an operator, `uid`. */
void ending_kill(struct client *c, uid_t uid);
/* Its user has more than it may. */
void ending_excess(struct client *c, const char *why);
/* salusd stops. */
void ending_stop(struct client *c);

#endif
