/* SPDX-License-Identifier: Apache-2.0
 *
 * When the process dies of a bug (failed assertion, broken invariant, access to unmapped memory),
 * the scheduler's latest events are first written to a file. Its name is logged; `salus-sim replay`
 * runs the events again. The log also gets the stack, one line for each function.
 */
#ifndef DAEMON_WORKER_CRASH_H
#define DAEMON_WORKER_CRASH_H

struct recorder;

/* crash_watch installs the handlers; it does nothing if `path` is NULL, "" or too long.
 * crash_recorder sets the recorder whose events are written. The caller keeps the recorder, and
 * passes NULL before freeing it. The state is per process: only one worker of a process can use it.
 */
void crash_watch(const char *path);
void crash_recorder(const struct recorder *r);

#endif
