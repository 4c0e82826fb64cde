/* SPDX-License-Identifier: Apache-2.0
 *
 * Shares of the device: under a lane policy that levels service (fair), device time goes by weight
 * whatever lane a job is in. Turns level the jobs of one lane; this levels the jobs that have the
 * turns of different lanes, by holding back operations of those that are ahead (ADR 0029).
 *
 * Operations go in the order of what their jobs received, and only while that is no more than
 * SHARE_LAG_NS of device time ahead of the least served job that competes. A job competes while it
 * has an operation on the device or one that may go there, and while its pause is waited for
 * (pause.h). Expected time is charged when an operation is sent and put right when it ends, so that
 * a queue of operations counts.
 *
 * Jobs of high priority are never held back, and hold nobody back; nor are jobs with a promise
 * where a controller takes from others what keeps it.
 *
 * Owner: the scheduler. Thread: the scheduler's caller.
 */
#ifndef DAEMON_SCHED_DISPATCH_SHARE_H
#define DAEMON_SCHED_DISPATCH_SHARE_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/sched/core.h"

#define SHARE_LAG_NS 1000000ull /* of device time, that a job may be ahead of the least served */

/* Room for `count` jobs, of which the first `have` exist. 0 or -ENOMEM. */
int share_reserve(struct sched_state *st, uint32_t have, uint32_t count);

/* No jobs are levelled while policies change; from now on they are, if the new policies level
 * them. The caller places every job's operations anew. */
void share_leave(struct sched *s);
void share_enter(struct sched *s);

/* The job received `ns` of service; negative: it is given back. */
void share_charge(struct sched *s, uint32_t job, int64_t ns);
/* The job has a new number, in which its operations on the device are not counted yet. */
void share_begin(struct sched *s, uint32_t job);
/* The job is the next one to get the turn of its lane, which an idle job has: it competes. */
void share_wait(struct sched *s, uint32_t job);
/* The job competes no more: its slot or its lane is given up. */
void share_forget(struct sched *s, uint32_t job);

/* The job's oldest operation goes to its place among those of others; the job competes. */
void share_put(struct sched *s, uint32_t job, uint32_t op);
/* The place of the job's oldest operation. */
uint64_t share_rank(const struct sched *s, uint32_t job);
/* `op` is about to be sent to the device; it has ended after `busy_ns`. */
void share_sent(struct sched *s, uint32_t op);
void share_ended(struct sched *s, uint32_t op, uint64_t busy_ns);

/* The service that a job of the lane begins with. */
uint64_t share_floor(struct sched *s, uint32_t lane);

/* The operation to be sent now, or SCHED_NONE; sets when there may be one although nothing
 * happens. */
uint32_t share_pick(struct sched *s);
/* The job's operations may go, by the latest look at who competes. */
bool share_allows(const struct sched *s, uint32_t job);

/* NULL, or the invariant that does not hold. */
const char *share_check(const struct sched *s);

#endif
