/* SPDX-License-Identifier: Apache-2.0
 *
 * `salus-sim replay`: a recording, which anybody may have written, through the scheduler again. A
 * checkpoint in it is memory that is believed (daemon/sched/record/checkpoint.h): hence all of it
 * is read and replayed in a sandbox.
 */
#ifndef DAEMON_SIM_VERBS_SIMREPLAY_H
#define DAEMON_SIM_VERBS_SIMREPLAY_H

#include <stdbool.h>
#include <stdio.h>

struct simreplay {
    const char *path; /* - for standard input */
    bool any_build;   /* also a checkpoint of another build */
    bool trust;       /* in this very process, without limits: for debuggers, and old kernels */
};

/* Prints what came of it: enum simcli_exit. */
int simreplay_run(const struct simreplay *what, FILE *out, FILE *err);

#endif
