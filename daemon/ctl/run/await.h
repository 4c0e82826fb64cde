/* SPDX-License-Identifier: Apache-2.0
 *
 * Waits for the command of `run`: prints why its job waits for admission, a line at each change,
 * and detects whether it was refused, as the library reports (refusal_note.h), or else salusd.
 */
#ifndef DAEMON_CTL_RUN_AWAIT_H
#define DAEMON_CTL_RUN_AWAIT_H

#include <sys/types.h>

#include "daemon/ctl/cli/cli.h"
#include "daemon/ctl/run/relay.h"

/* The command's jobs: `run` is their number (SALUS_RUN), `pid` the command's process, which did not
 * connect before `since_ns` (since 1970). */
struct await {
    struct cli *c;
    uint32_t run;
    pid_t pid;
    uint64_t since_ns;
    int note;       /* descriptor of refusal_note.h */
    bool talk;      /* print why the job waits */
    char said[512]; /* the latest line printed */
};

/* Waits until the process, the relay's child, ends. Returns 0 with its wait status, or -errno. */
int await_end(struct await *a, struct relay *r, int *status);

/* Returns true if a job of the command was refused, with the reason in `why`. Call once, after its
 * end. */
bool await_refused(struct await *a, char *why, size_t cap);

#endif
