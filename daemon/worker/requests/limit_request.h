/* SPDX-License-Identifier: Apache-2.0
 *
 * The record that sets one of CUDA's limits. The device may need memory for it, for which the
 * scheduler may have to be asked. Until the answer comes, nothing else is read from the client
 * (CLIENT_ASKS).
 */
#ifndef DAEMON_WORKER_REQUESTS_LIMIT_REQUEST_H
#define DAEMON_WORKER_REQUESTS_LIMIT_REQUEST_H

#include "proto/wire/wire.h"

struct client;

/* Answers the record at once, or when the scheduler has answered. */
void limit_request_take(struct client *c, const struct wire_limit *rec);

#endif
