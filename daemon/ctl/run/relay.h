/* SPDX-License-Identifier: Apache-2.0
 *
 * Relays signals: each signal that salusctl gets goes to the command, because senders take salusctl
 * for the command. When the command is stopped, this process stops as well, so that a shell's job
 * control works.
 *
 * Owner: the caller; one at a time, since signals are process-wide. Threads: one.
 */
#ifndef DAEMON_CTL_RUN_RELAY_H
#define DAEMON_CTL_RUN_RELAY_H

#include <signal.h>
#include <sys/types.h>

#include "daemon/ctl/run/witness.h"

struct relay {
    pid_t child; /* 0: none yet, or no longer */
    sigset_t before;
    struct sigaction on_child; /* previous action of SIGCHLD */
    struct witness witness;
};

/* Lets this process wait for children, even if its parent left SIGCHLD ignored. */
void relay_prepare(struct relay *r);

/* Keeps signals pending from now on, until relay_wait takes them. */
void relay_begin(struct relay *r);

/* In a child: restores the signals' original state. */
void relay_undo(const struct relay *r);

/* Waits until the child ends, and returns 1 with its wait status; or returns 0 after `seconds` (<
 * 0: no limit). Returns -errno when the child cannot be waited for. */
int relay_wait(struct relay *r, int seconds, int *status);

/* Restores the signals' original state. Pending signals are dropped, so that they end nothing that
 * follows. */
void relay_end(struct relay *r);

#endif
