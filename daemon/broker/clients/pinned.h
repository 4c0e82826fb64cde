/* SPDX-License-Identifier: Apache-2.0
 *
 * Limits pinned and staging memory of each user's jobs. Clients use it without asking, so it is
 * measured.
 */
#ifndef DAEMON_BROKER_CLIENTS_PINNED_H
#define DAEMON_BROKER_CLIENTS_PINNED_H

#include "daemon/broker/clients/client.h"

/* Call about once a second. For each user above the limit, ends the job that grew most since the
 * previous call. */
void pinned_look(struct clients *clients);

#endif
