/* SPDX-License-Identifier: Apache-2.0
 *
 * Shares of the device: under a lane policy that balances service (fair), device time is divided by
 * weight across all lanes. Turns balance the jobs of one lane. This module balances the jobs that
 * have the turns of different lanes, by holding back operations of jobs that are ahead (ADR 0029).
 *
 * Operations run in the order of their jobs' received service, and only while a job is at most
 * SHARE_LAG_NS of device time ahead of the least served competing job. A job competes while it has
 * an operation on the device or one that may go there, and while the device waits for it (pause.h).
 * A job is charged the expected time when an operation is sent, and the charge is corrected when
 * the operation ends, so that queued operations count.
 *
 * Jobs of high priority are never held back, and hold no job back. The same holds for jobs with a
 * latency target under a controller that enforces targets.
 *
 * Owner: the scheduler. Thread: the scheduler's caller.
 */
#ifndef DAEMON_SCHED_DISPATCH_SHARE_H
#define DAEMON_SCHED_DISPATCH_SHARE_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/sched/core.h"

#define SHARE_LAG_NS \
    1000000ull /* device time by which a job may be ahead of the least served one */

/* Allocates space for `count` jobs, of which the first `have` exist. Returns 0 or -ENOMEM. */
int share_reserve(struct sched_state *st, uint32_t have, uint32_t count);

/* share_leave stops balancing while policies change; share_enter starts it again if the new lane
 * policy balances. The caller places every job's operations anew. */
void share_leave(struct sched *s);
void share_enter(struct sched *s);

/* Charges the job for `ns` of service; negative: gives it back. */
void share_charge(struct sched *s, uint32_t job, int64_t ns);
/* Charges the job, which has a new number, for its operations on the device. */
void share_begin(struct sched *s, uint32_t job);
/* The job, next to get the turn of its lane from an idle holder, starts to compete. */
void share_wait(struct sched *s, uint32_t job);
/* The job stops competing, because its slot or its lane is given up. */
void share_forget(struct sched *s, uint32_t job);

/* Puts the job's oldest operation into its place among those of other jobs; the job starts to
 * compete. */
void share_put(struct sched *s, uint32_t job, uint32_t op);
/* The rank of the job's oldest operation. */
uint64_t share_rank(const struct sched *s, uint32_t job);
/* share_sent: `op` is about to be sent to the device. share_ended: it has ended after `busy_ns`. */
void share_sent(struct sched *s, uint32_t op);
void share_ended(struct sched *s, uint32_t op, uint64_t busy_ns);

/* The service with which a new job of the lane begins. */
uint64_t share_floor(struct sched *s, uint32_t lane);

/* Returns the operation to send now, or SCHED_NONE. Sets share.wake_ns, the time at which there may
 * be one without an event. */
uint32_t share_pick(struct sched *s);
/* The job's operations may run, as of the latest look at the competing jobs. */
bool share_allows(const struct sched *s, uint32_t job);

/* Returns NULL or the first invariant that fails. */
const char *share_check(const struct sched *s);

#endif
