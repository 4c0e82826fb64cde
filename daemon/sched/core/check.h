/* SPDX-License-Identifier: Apache-2.0
 *
 * The invariants of the scheduler, for tests and checked builds.
 */
#ifndef DAEMON_SCHED_CORE_CHECK_H
#define DAEMON_SCHED_CORE_CHECK_H

struct sched;

/* Checks every invariant of the state and of the policies. Returns NULL or the first one that
 * fails. */
const char *sched_check(const struct sched *s);

#endif
