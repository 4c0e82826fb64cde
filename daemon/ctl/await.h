/* SPDX-License-Identifier: Apache-2.0
 *
 * Waiting for the command of `run`: why its job waits for admission, in a line each time that it
 * changes, and whether it was refused.
 */
#ifndef DAEMON_CTL_AWAIT_H
#define DAEMON_CTL_AWAIT_H

#include <sys/types.h>

#include "daemon/ctl/cli.h"
#include "daemon/ctl/relay.h"

/* Which job is meant: `run` is its number (SALUS_RUN), `pid` the command's process. */
struct await {
    struct cli *c;
    uint32_t run;
    pid_t pid;
    bool talk;      /* say why it waits */
    char said[512]; /* what was said last */
};

/* Waits until the process, the relay's child, ends: 0 with its wait status, or -errno. */
int await_end(struct await *a, struct relay *r, int *status);

/* Whether the job was refused, with the daemon's reason in `why`. Of a daemon that cannot be asked
 * nothing is known: false. */
bool await_refused(const struct await *a, char *why, size_t cap);

#endif
