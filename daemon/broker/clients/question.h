/* SPDX-License-Identifier: Apache-2.0
 *
 * A client that asks what there is of the device (wire_question) and wants no job: it gets one
 * message, and its connection ends. It waits only while nothing is known of the device yet.
 */
#ifndef DAEMON_BROKER_CLIENTS_QUESTION_H
#define DAEMON_BROKER_CLIENTS_QUESTION_H

#include "daemon/broker/clients/client.h"

/* Its message. The client may be closed when this returns. */
void question_take(struct client *c, const void *msg, size_t bytes);

/* Answers it, or refuses where no worker will come; unless it has to wait, it is closed then. */
void question_answer(struct client *c);

#endif
