/* SPDX-License-Identifier: Apache-2.0
 *
 * Signals of the process that waits for a command: each one that it gets is passed on to the
 * command, which the caller takes this process for; and where the command is stopped, so is this
 * process, so that a shell's job control goes on to work.
 *
 * Owner: the caller; one at a time, since signals are the process's. Threads: one.
 */
#ifndef DAEMON_CTL_RUN_RELAY_H
#define DAEMON_CTL_RUN_RELAY_H

#include <signal.h>
#include <sys/types.h>

#include "daemon/ctl/run/witness.h"

struct relay {
    pid_t child; /* 0: there is none yet, or no longer */
    sigset_t before;
    struct sigaction on_child; /* what SIGCHLD did before */
    struct witness witness;
};

/* Makes children of this process be waited for, whatever the caller does with SIGCHLD. */
void relay_prepare(struct relay *r);

/* From now on signals stay pending until relay_wait takes them. */
void relay_begin(struct relay *r);

/* In a child: signals are as this process found them. */
void relay_undo(const struct relay *r);

/* Waits until the child ends, and returns 1 with its wait status, or until `seconds` (< 0: no
 * limit) are over: 0. Negative errno when the child cannot be waited for. */
int relay_wait(struct relay *r, int seconds, int *status);

/* Signals do again what they did before. Those that are pending are dropped, and so ends nothing
 * that comes after. */
void relay_end(struct relay *r);

#endif
