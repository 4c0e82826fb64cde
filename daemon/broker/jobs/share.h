/* SPDX-License-Identifier: Apache-2.0
 *
 * The device time that the jobs of a GPU get, and the view of the device that the jobs of one user
 * are given (wire_view): time, and memory that they can have. The view tells of other users' jobs
 * only how much memory is not free.
 */
#ifndef DAEMON_BROKER_JOBS_SHARE_H
#define DAEMON_BROKER_JOBS_SHARE_H

#include "daemon/broker/jobs/attachments.h"

/* Looks at what each job took of the device's time; once a second or so. With `by_weight`, also at
 * what was due to it. */
void share_look(struct attachments *as, bool by_weight, uint64_t now_ns);

/* The job's part of a look, `busy_ns` being all that it ever took. */
void share_take(struct load *load, uint64_t now_ns, uint64_t busy_ns);

/* Everything but `magic`, the version and `device`, for process `pid` of user `uid`, who is shown a
 * device of `total_bytes`, of which a new job could have `free_bytes`. */
void share_fill(const struct attachments *as, uid_t uid, pid_t pid, uint64_t total_bytes,
                uint64_t free_bytes, struct wire_view *out);

#endif
