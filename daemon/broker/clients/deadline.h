/* SPDX-License-Identifier: Apache-2.0
 *
 * Deadlines for the steps of the handshake: a late client is refused, with the step that was
 * awaited.
 */
#ifndef DAEMON_BROKER_CLIENTS_DEADLINE_H
#define DAEMON_BROKER_CLIENTS_DEADLINE_H

#include "daemon/broker/clients/client.h"

void deadline_init(struct client *c, uv_loop_t *loop);

/* Sets the deadline from now on, replacing the previous one. */
void deadline_set(struct client *c, uint64_t ns);

#endif
