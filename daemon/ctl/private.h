/* SPDX-License-Identifier: Apache-2.0
 *
 * A daemon of our own for one command: a directory that only this user can enter, salusd on the
 * software GPU in it, both gone when the command is.
 *
 * Owner: the caller; zero it, and private_stop also after a failed start.
 */
#ifndef DAEMON_CTL_PRIVATE_H
#define DAEMON_CTL_PRIVATE_H

#include <sys/types.h>

#include "daemon/ctl/cli.h"

struct private {
    char dir[96]; /* empty: none was made */
    pid_t pid;    /* 0: not running */
};

/* CLI_OK once it accepts clients; else an exit status after a diagnostic. */
int private_start(struct private *p, struct cli *c);
void private_stop(struct private *p);

#endif
