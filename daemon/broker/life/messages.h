/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages of a GPU's worker, as they come from its socket. What it says of itself (it is ready,
 * was tried, goes on with a job, has lost its device) changes its life (supervise.h) here; what it
 * says of jobs is the inbox's (inbox.h). A worker that speaks nonsense is ended.
 *
 * Owner: struct supervise. Thread: the loop's.
 */
#ifndef DAEMON_BROKER_LIFE_MESSAGES_H
#define DAEMON_BROKER_LIFE_MESSAGES_H

#include <uv.h>

/* Receives and sends what can be now. `data` of the handle: the struct supervise. */
void messages_poll(uv_poll_t *p, int status, int events);

#endif
