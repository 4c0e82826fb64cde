/* SPDX-License-Identifier: Apache-2.0
 *
 * A daemon of our own for one command: a directory that only this user can enter, salusd on the
 * software GPU in it, both gone when the command is.
 *
 * Owner: the caller; PRIVATE_NONE, and private_stop also after a failed start.
 */
#ifndef DAEMON_CTL_RUN_PRIVATE_H
#define DAEMON_CTL_RUN_PRIVATE_H

#include <sys/types.h>

#include "daemon/ctl/cli/cli.h"
#include "daemon/ctl/run/private_dir.h"

struct private {
    char dir[PRIVATE_DIR_BYTES]; /* empty: none was made */
    int hold;                    /* of it; -1: none */
    int notify;                  /* where the daemon says that it is ready; -1: none */
    pid_t pid;                   /* 0: not running */
};

#define PRIVATE_NONE ((struct private){.hold = -1, .notify = -1})

/* CLI_OK once it serves jobs; else an exit status after a diagnostic. */
int private_start(struct private *p, struct cli *c);
void private_stop(struct private *p);

#endif
