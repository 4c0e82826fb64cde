/* SPDX-License-Identifier: Apache-2.0
 *
 * How long a process that does not speak has been silent: what it waits for a processor that others
 * have does not count, or a loaded machine would end what has done nothing wrong. Where the kernel
 * does not say (/proc/PID/schedstat) all of it counts.
 *
 * Owner: struct supervise. Thread: the loop's.
 */
#ifndef DAEMON_BROKER_LIFE_SILENCE_H
#define DAEMON_BROKER_LIFE_SILENCE_H

#include <stdint.h>
#include <sys/types.h>

struct silence {
    pid_t pid;
    uint64_t waited_ns; /* of its first thread, that was counted */
};

/* It has spoken. */
void silence_begin(struct silence *s, pid_t pid);
/* How much longer it may be silent, when its time is over: what it has waited since it spoke, or
 * since this was asked. 0: no longer. */
uint64_t silence_more_ms(struct silence *s);

#endif
