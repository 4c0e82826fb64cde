/* SPDX-License-Identifier: Apache-2.0
 *
 * A job of our own, attached to each new worker and let go of again before the worker counts as
 * ready: an opened device is not yet one on which a job would be served. Nobody sees it.
 */
#ifndef DAEMON_BROKER_WORKER_TRIAL_H
#define DAEMON_BROKER_WORKER_TRIAL_H

#include "daemon/broker/broker.h"

/* 0: the worker is asked. Negative: it cannot be, with the reason in `why`. */
int trial_begin(struct server *s, char *why, size_t cap);

/* Its ATTACHED came. 0: it is being detached, and with DETACHED the worker is ready; 1: other
 * windows are tried; negative with the reason in `why`. Keeps nothing of `completion_fd`; -errno
 * there: it was lost for want of descriptors. */
int trial_attached(struct server *s, const struct wire_worker_msg *msg, int completion_fd,
                   char *why, size_t cap);

/* Lets go of its pages; also when there are none. */
void trial_end(struct server *s);

#endif
