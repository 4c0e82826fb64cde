/* SPDX-License-Identifier: Apache-2.0
 *
 * The device time of a GPU's jobs, and the view of the device for the jobs of one user (wire_view):
 * time, and obtainable memory. The view reveals of other users' jobs only how much memory is not
 * free.
 */
#ifndef DAEMON_BROKER_JOBS_SHARE_H
#define DAEMON_BROKER_JOBS_SHARE_H

#include "daemon/broker/jobs/attachments.h"

/* Samples each job's device time; about once a second. `by_weight`: also computes what was due to
 * it. */
void share_look(struct attachments *as, bool by_weight, uint64_t now_ns);

/* Updates a job's load; `busy_ns` is its total device time. */
void share_take(struct load *load, uint64_t now_ns, uint64_t busy_ns);

/* Fills everything but `magic`, the version and `device`, for process `pid` of user `uid`. That
 * user sees a device of `total_bytes`, of which a new job could get `free_bytes`. */
void share_fill(const struct attachments *as, uid_t uid, pid_t pid, uint64_t total_bytes,
                uint64_t free_bytes, struct wire_view *out);

#endif
