/* SPDX-License-Identifier: Apache-2.0
 *
 * The invariants of the scheduler, for tests and checked builds.
 */
#ifndef DAEMON_SCHED_CORE_CHECK_H
#define DAEMON_SCHED_CORE_CHECK_H

struct sched;

/* Every invariant of the state and of the policies: NULL, or the one that does not hold. */
const char *sched_check(const struct sched *s);

#endif
