/* SPDX-License-Identifier: Apache-2.0
 *
 * The invariants of the queues of ready jobs.
 */
#ifndef DAEMON_SCHED_DISPATCH_READY_CHECK_H
#define DAEMON_SCHED_DISPATCH_READY_CHECK_H

struct sched;

/* Returns NULL or the first invariant that fails. */
const char *ready_check(const struct sched *s);

#endif
