/* SPDX-License-Identifier: Apache-2.0
 *
 * When the process dies of a bug (an assertion, a broken invariant, an access to no memory), the
 * scheduler's latest events go to a file first, whose name is logged: `salus-sim replay` runs them
 * again. Where it was is in the log, a line a function.
 */
#ifndef DAEMON_WORKER_CRASH_H
#define DAEMON_WORKER_CRASH_H

struct recorder;

/* From now on. `path` NULL or "": nothing is written. The recorder stays the caller's, who says
 * NULL before it goes. Process-wide: one worker a process does so. */
void crash_watch(const char *path);
void crash_recorder(const struct recorder *r);

#endif
