/* SPDX-License-Identifier: Apache-2.0
 *
 * Refusals: every one says why in words, and ends the client. The history has those of clients
 * that asked for a job. Nothing can be done about one that is already gone.
 */
#ifndef DAEMON_BROKER_CLIENTS_REFUSE_H
#define DAEMON_BROKER_CLIENTS_REFUSE_H

#include "daemon/broker/clients/client.h"

/* Says why on a connection that is no client, and closes it. */
void refuse_connection(int fd, int result, const char *text);

/* Says why, in the message that the client waits for: a welcome once windows were offered, else an
 * offer; then closes it. */
void refuse_client(struct client *c, int result, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* We lack descriptors or memory (fdutil_scarce): the newcomer's refusal, and nobody else's loss. */
void refuse_scarce(struct client *c, int err);
/* No worker will come. */
void refuse_given_up(struct client *c);
/* The same as refuse_client; `by` is who refused, for the history. */
void refuse_by(struct client *c, const char *by, int result, const char *why);
/* Admission refuses this job. */
void refuse_job(struct client *c, int result, const char *why);
/* A limit of its user refuses it. */
void refuse_beyond(struct client *c, int result, const char *why);

#endif
