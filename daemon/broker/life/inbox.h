/* SPDX-License-Identifier: Apache-2.0
 *
 * What a worker says of jobs, and of kernels, brought to those whom it concerns; and the end of the
 * jobs that it had.
 */
#ifndef DAEMON_BROKER_LIFE_INBOX_H
#define DAEMON_BROKER_LIFE_INBOX_H

#include "daemon/broker/broker.h"

/* A message of the GPU's worker, with texts that can be shown. `fd` came along, and stays the
 * caller's (-1: none; other negative: it was lost). ERR_PROTOCOL: it may not say this. */
int inbox_take(struct broker *b, struct gpu *g, const struct wire_worker_msg *msg, int fd);

/* What could not be sent to the worker, for want of descriptors, is answered in its place. */
void inbox_not_sent(struct gpu *g, uint32_t job_id, int err);

/* The worker is gone, for the reason in g->worker.trouble: nobody waits for its answers any more,
 * its jobs are ended and their clients told. `why` is for those who waited. */
void inbox_worker_gone(struct broker *b, struct gpu *g, const char *why);

#endif
