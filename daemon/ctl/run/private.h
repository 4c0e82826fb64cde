/* SPDX-License-Identifier: Apache-2.0
 *
 * A private daemon for one command: a directory that only this user can enter, and salusd on the
 * software GPU in it. Both are removed when the command ends.
 *
 * Owner: the caller. Initialise to PRIVATE_NONE; call private_stop even after a failed start.
 */
#ifndef DAEMON_CTL_RUN_PRIVATE_H
#define DAEMON_CTL_RUN_PRIVATE_H

#include <sys/types.h>

#include "daemon/ctl/cli/cli.h"
#include "daemon/ctl/run/private_dir.h"

struct private {
    char dir[PRIVATE_DIR_BYTES]; /* empty: none was created */
    int hold;   /* descriptor that keeps the directory from being swept; -1: none */
    int notify; /* socket on which the daemon reports readiness; -1: none */
    pid_t pid;  /* 0: not running */
};

#define PRIVATE_NONE ((struct private){.hold = -1, .notify = -1})

/* Returns CLI_OK once the daemon serves jobs, else an exit status after a diagnostic. */
int private_start(struct private *p, struct cli *c);
void private_stop(struct private *p);

#endif
