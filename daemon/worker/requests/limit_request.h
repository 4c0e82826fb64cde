/* SPDX-License-Identifier: Apache-2.0
 *
 * The record of a limit of CUDA's. The device may need memory for it, which may have to be asked
 * for: until there is an answer nothing else is read of the client (CLIENT_ASKS).
 */
#ifndef DAEMON_WORKER_REQUESTS_LIMIT_REQUEST_H
#define DAEMON_WORKER_REQUESTS_LIMIT_REQUEST_H

#include "proto/wire/wire.h"

struct client;

/* Answered at once, or when the scheduler has answered. */
void limit_request_take(struct client *c, const struct wire_limit *rec);

#endif
