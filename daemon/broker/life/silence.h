/* SPDX-License-Identifier: Apache-2.0
 *
 * Measures the silence of a process. Time in which it waits for a processor does not count, so that
 * a loaded machine does not end an innocent worker. If the kernel does not report that
 * (/proc/PID/schedstat), all time counts.
 *
 * Owner: struct supervise. Thread: the loop's.
 */
#ifndef DAEMON_BROKER_LIFE_SILENCE_H
#define DAEMON_BROKER_LIFE_SILENCE_H

#include <stdint.h>
#include <sys/types.h>

struct silence {
    pid_t pid;
    uint64_t waited_ns; /* waits of the process's first thread that earlier calls have counted */
};

/* Called when the process has spoken. */
void silence_begin(struct silence *s, pid_t pid);
/* Extension of an expired timeout: the time that the process waited for a processor since it last
 * spoke, or since the previous call. 0: none. */
uint64_t silence_more_ms(struct silence *s);

#endif
