/* SPDX-License-Identifier: Apache-2.0
 *
 * A process in the process group of `salusctl run` that only takes signals. A signal that a
 * terminal, a shell or another program sends to the whole group reaches it as well, one that is
 * sent to salusctl alone does not: so a signal is never passed on to a command that has it already.
 *
 * Owner: the caller. Threads: one.
 */
#ifndef DAEMON_CTL_RUN_WITNESS_H
#define DAEMON_CTL_RUN_WITNESS_H

#include <stdbool.h>
#include <sys/types.h>

struct witness {
    pid_t pid; /* 0: there is none */
    int fd;    /* where it is asked */
};

/* Starts it; all signals must be blocked. Without one, for want of processes or descriptors,
 * witness_saw is always false. It ends with this process. */
void witness_start(struct witness *w);

/* True if the signal, which has just been taken here, was sent to the whole group. Each one is
 * reported once. */
bool witness_saw(struct witness *w, int number);

void witness_stop(struct witness *w);

#endif
