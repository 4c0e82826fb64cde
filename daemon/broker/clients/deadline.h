/* SPDX-License-Identifier: Apache-2.0
 *
 * How long a step of the handshake may take: a client that is late is refused, with what was
 * awaited.
 */
#ifndef DAEMON_BROKER_CLIENTS_DEADLINE_H
#define DAEMON_BROKER_CLIENTS_DEADLINE_H

#include "daemon/broker/clients/client.h"

void deadline_init(struct client *c, uv_loop_t *loop);

/* From now, over the one before. */
void deadline_set(struct client *c, uint64_t ns);

#endif
