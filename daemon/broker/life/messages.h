/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages from a GPU's worker's socket. Reports about the worker itself (it is ready, was tried,
 * continues a job, has lost its device) change its state here (supervise.h); reports about jobs go
 * to the inbox (inbox.h). A worker that breaks the protocol is ended.
 *
 * Owner: struct supervise. Thread: the loop's.
 */
#ifndef DAEMON_BROKER_LIFE_MESSAGES_H
#define DAEMON_BROKER_LIFE_MESSAGES_H

#include <uv.h>

/* Receives and sends what is possible now. `data` of the handle: the struct supervise. */
void messages_poll(uv_poll_t *p, int status, int events);

#endif
