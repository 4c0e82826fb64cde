/* SPDX-License-Identifier: Apache-2.0
 *
 * Refusals: each gives a reason in words, and ends the client. Refused jobs are added to the
 * history. A client that is already gone cannot be told.
 */
#ifndef DAEMON_BROKER_CLIENTS_REFUSE_H
#define DAEMON_BROKER_CLIENTS_REFUSE_H

#include "daemon/broker/clients/client.h"

/* Refuses a connection that is no client yet, with the reason, and closes it. */
void refuse_connection(int fd, int result, const char *text);

/* Sends the reason, in the message that the client waits for: a welcome once windows were offered,
 * else an offer. Then closes the client. */
void refuse_client(struct client *c, int result, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* We lack descriptors or memory (fdutil_scarce): refuses the new client, at nobody else's expense.
 */
void refuse_scarce(struct client *c, int err);
/* No worker will come. */
void refuse_given_up(struct client *c);
/* As refuse_client; `by` is who refused, for the history. */
void refuse_by(struct client *c, const char *by, int result, const char *why);
/* Admission refuses this job. */
void refuse_job(struct client *c, int result, const char *why);
/* A limit of its user refuses it. */
void refuse_beyond(struct client *c, int result, const char *why);

#endif
