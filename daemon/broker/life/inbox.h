/* SPDX-License-Identifier: Apache-2.0
 *
 * Handles a worker's heartbeat and its messages about jobs and policies; and ends jobs.
 */
#ifndef DAEMON_BROKER_LIFE_INBOX_H
#define DAEMON_BROKER_LIFE_INBOX_H

#include "daemon/broker/broker.h"

/* Handles a message of the GPU's worker, whose texts are printable. `fds` came along and stay the
 * caller's, except those that are -1 afterwards (-1: none; other negative: lost). Returns
 * ERR_PROTOCOL for a message that the worker may not send now. */
int inbox_take(struct broker *b, struct gpu *g, const struct wire_worker_msg *msg, int fds[2]);

/* Answers for the worker when a message could not be sent, for lack of descriptors. */
void inbox_not_sent(struct gpu *g, uint32_t job_id, int err);

/* Fails all requests that wait for the ended worker; `why` is told to the requesters. recovery.h
 * decides about its jobs. */
void inbox_worker_gone(struct gpu *g, const char *why);

/* Ends the job, whose counters are final: adds it to the history if users saw it, learns its
 * program profile, and frees `a`. */
void inbox_end_job(struct broker *b, struct gpu *g, struct attachment *a);

#endif
