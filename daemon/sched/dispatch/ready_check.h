/* SPDX-License-Identifier: Apache-2.0
 *
 * The check of the queues of jobs that have an operation to run.
 */
#ifndef DAEMON_SCHED_DISPATCH_READY_CHECK_H
#define DAEMON_SCHED_DISPATCH_READY_CHECK_H

#include "daemon/sched/dispatch/ready.h"

/* NULL, or which invariant of the queues does not hold. */
const char *ready_check(const struct sched *s);

#endif
