/* SPDX-License-Identifier: Apache-2.0
 *
 * A job of our own, attached to each new worker and let go of again before the worker counts as
 * ready: an opened device is not yet one on which a job would be served. Nobody sees it.
 *
 * Owner: struct supervise. Thread: the loop's.
 */
#ifndef DAEMON_BROKER_LIFE_TRIAL_H
#define DAEMON_BROKER_LIFE_TRIAL_H

#include "daemon/broker/jobs/attachments.h"

struct trial {
    struct attachments *attachments;
    uint64_t host_bytes;
    struct job job;
    struct pages pages;
    int tries;
    struct attachment *attachment; /* while the worker's answer is awaited */
};

void trial_init(struct trial *t, struct attachments *attachments, uint64_t host_bytes);

/* 0: the worker is asked. Negative: it cannot be, with the reason in `why`. */
int trial_begin(struct trial *t, char *why, size_t cap);

/* Its ATTACHED came, with the descriptors of attachments_see. 0: it is being detached, and with
 * DETACHED the worker has done it; 1: other windows are tried; negative with the reason in `why`.
 * -errno as a descriptor: it was lost for want of room. */
int trial_attached(struct trial *t, const struct wire_worker_msg *msg, int fds[2], char *why,
                   size_t cap);

/* Lets go of its pages; also when there are none. */
void trial_end(struct trial *t);

#endif
