/* SPDX-License-Identifier: Apache-2.0
 *
 * What a worker says of jobs, and of kernels, brought to those whom it concerns; and the end of
 * jobs.
 */
#ifndef DAEMON_BROKER_LIFE_INBOX_H
#define DAEMON_BROKER_LIFE_INBOX_H

#include "daemon/broker/broker.h"

/* A message of the GPU's worker, with texts that can be shown. `fds` came along, and stay the
 * caller's but for those that are -1 afterwards (-1: none; other negative: lost). ERR_PROTOCOL: it
 * may not say this. */
int inbox_take(struct broker *b, struct gpu *g, const struct wire_worker_msg *msg, int fds[2]);

/* What could not be sent to the worker, for want of descriptors, is answered in its place. */
void inbox_not_sent(struct gpu *g, uint32_t job_id, int err);

/* The worker is gone, and nobody waits for its answers any more; `why` is for those who did. What
 * becomes of its jobs is recovery.h's. */
void inbox_worker_gone(struct gpu *g, const char *why);

/* The job's last moment: its counters are final. */
void inbox_end_job(struct broker *b, struct gpu *g, struct attachment *a);

#endif
