/* SPDX-License-Identifier: Apache-2.0
 *
 * Waiting for the command of `run`: why its job waits for admission, in a line each time that it
 * changes, and whether it was refused: by the library's word (refusal_note.h), else by salusd's.
 */
#ifndef DAEMON_CTL_RUN_AWAIT_H
#define DAEMON_CTL_RUN_AWAIT_H

#include <sys/types.h>

#include "daemon/ctl/cli/cli.h"
#include "daemon/ctl/run/relay.h"

/* Which job is meant: `run` is its number (SALUS_RUN), `pid` the command's process, which did not
 * connect before `since_ns` (since 1970). */
struct await {
    struct cli *c;
    uint32_t run;
    pid_t pid;
    uint64_t since_ns;
    int note;       /* refusal_note.h */
    bool talk;      /* say why it waits */
    char said[512]; /* what was said last */
};

/* Waits until the process, the relay's child, ends: 0 with its wait status, or -errno. */
int await_end(struct await *a, struct relay *r, int *status);

/* True if a job of the command was refused, with the reason in `why`. Called once, after its end.
 */
bool await_refused(struct await *a, char *why, size_t cap);

#endif
