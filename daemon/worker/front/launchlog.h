/* SPDX-License-Identifier: Apache-2.0
 *
 * A log of the iteration detector's input, to test it on real programs. It has a line for each
 * launch, each freed block of ephemeral memory, each mark and each wait, in the order of arrival:
 *
 *   job print live_bytes now_ns kind
 *
 * with print in hexadecimal, 0 but for launches. Off unless SALUS_LAUNCH_LOG names a file. Owner:
 * the process. Thread: the worker's.
 */
#ifndef DAEMON_WORKER_FRONT_LAUNCHLOG_H
#define DAEMON_WORKER_FRONT_LAUNCHLOG_H

#include <stdbool.h>

struct client;

extern bool launchlog_on;

/* 0, or -errno when the file cannot be created. */
int launchlog_open(void);
int launchlog_close(void); /* 0, or -errno when the log is incomplete */

void launchlog_write(const struct client *c, const void *rec);

/* Logs a client's record that was read and took effect. */
static inline void launchlog_record(const struct client *c, const void *rec) {
    if (__builtin_expect(launchlog_on, false)) launchlog_write(c, rec);
}

#endif
