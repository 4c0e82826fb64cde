/* SPDX-License-Identifier: Apache-2.0
 *
 * A job of the broker's own, attached to each new worker and detached again before the worker
 * counts as ready: opening a device does not prove that a job would be served. It is hidden from
 * users.
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
    struct attachment *attachment; /* set while the worker's answer is pending */
};

void trial_init(struct trial *t, struct attachments *attachments, uint64_t host_bytes);

/* Returns 0: the worker was asked. Negative: it cannot be, with the reason in `why`. */
int trial_begin(struct trial *t, char *why, size_t cap);

/* Handles ATTACHED, with the descriptors of attachments_see. Returns 0: the job is being detached,
 * and DETACHED completes the trial; 1: other windows are tried; negative with the reason in `why`.
 * -errno as a descriptor: it was lost for lack of descriptors. */
int trial_attached(struct trial *t, const struct wire_worker_msg *msg, int fds[2], char *why,
                   size_t cap);

/* Frees the trial's pages, if any. */
void trial_end(struct trial *t);

#endif
