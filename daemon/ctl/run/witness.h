/* SPDX-License-Identifier: Apache-2.0
 *
 * A process in the process group of `salusctl run` that only takes signals. A signal that a
 * terminal, a shell or another program sends to the whole group reaches the witness as well; one
 * sent to salusctl alone does not. So a signal is never passed on to a command that has already got
 * it.
 *
 * Owner: the caller. Threads: one.
 */
#ifndef DAEMON_CTL_RUN_WITNESS_H
#define DAEMON_CTL_RUN_WITNESS_H

#include <stdbool.h>
#include <sys/types.h>

struct witness {
    pid_t pid; /* 0: none */
    int fd;    /* socket for questions */
};

/* Starts the witness, which ends with this process; all signals must be blocked. If there are no
 * processes or descriptors for it, witness_saw always returns false. */
void witness_start(struct witness *w);

/* The signal, which has just been taken here, was sent to the whole group. Each signal is reported
 * once. */
bool witness_saw(struct witness *w, int number);

void witness_stop(struct witness *w);

#endif
