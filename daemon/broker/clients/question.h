/* SPDX-License-Identifier: Apache-2.0
 *
 * A client that asks about the device (wire_question) and wants no job: it gets one message, and
 * its connection ends. It waits only while nothing is known of the device yet.
 */
#ifndef DAEMON_BROKER_CLIENTS_QUESTION_H
#define DAEMON_BROKER_CLIENTS_QUESTION_H

#include "daemon/broker/clients/client.h"

/* Takes its message. The client may be closed on return. */
void question_take(struct client *c, const void *msg, size_t bytes);

/* Answers, or refuses if no worker will come. Unless it has to wait, the client is closed on
 * return. */
void question_answer(struct client *c);

#endif
