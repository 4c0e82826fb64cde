/* SPDX-License-Identifier: Apache-2.0
 *
 * Pinned and staging memory of each user's jobs: clients use it without asking, so it is looked at.
 */
#ifndef DAEMON_BROKER_CLIENTS_PINNED_H
#define DAEMON_BROKER_CLIENTS_PINNED_H

#include "daemon/broker/clients/client.h"

/* Call about once a second. Of a user that has too much, the job that grew most since the last look
 * is ended. */
void pinned_look(struct clients *clients);

#endif
