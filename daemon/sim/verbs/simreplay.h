/* SPDX-License-Identifier: Apache-2.0
 *
 * `salus-sim replay`: replays a recording through the scheduler. A recording is untrusted. A
 * checkpoint in it is memory whose content is not checked (daemon/sched/record/checkpoint.h), so
 * the recording is read and replayed in a sandbox.
 */
#ifndef DAEMON_SIM_VERBS_SIMREPLAY_H
#define DAEMON_SIM_VERBS_SIMREPLAY_H

#include <stdbool.h>
#include <stdio.h>

struct simreplay {
    const char *path; /* - for standard input */
    bool any_build;   /* accept a checkpoint of another build */
    bool trust; /* run in this process without a sandbox: for debuggers and old Linux kernels */
};

/* Prints the outcome. Returns enum simcli_exit. */
int simreplay_run(const struct simreplay *what, FILE *out, FILE *err);

#endif
