/* SPDX-License-Identifier: Apache-2.0
 *
 * The environment in which a program finds our libcuda.so.1, a daemon, and settings for its
 * framework. Changes this process's own environment; one thread.
 */
#ifndef DAEMON_CTL_ENVIRONMENT_ENVIRONMENT_H
#define DAEMON_CTL_ENVIRONMENT_ENVIRONMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/ctl/cli/cli.h"

/* A variable to set unless the value is NULL. */
struct environment_value {
    const char *variable, *value;
};

struct environment {
    uint32_t run;       /* SALUS_RUN */
    bool quiet, strict; /* quiet: print nothing about what is set; strict: SALUS_STRICT */
    bool no_frameworks; /* set nothing of frameworks.def */
    bool async;         /* frameworks allocate with cudaMallocAsync */
    const struct environment_value *values;
    int value_count;
};

/* The command's jobs will compute nothing (--device-mode=null), by the values or by the
 * environment. */
bool environment_asks_null(const struct environment *e);

/* Sets the environment for the daemon of `c`. Returns CLI_OK, or an exit status after a diagnostic.
 */
int environment_set(struct cli *c, const struct environment *e);

/* True if a GPU of the daemon of `c` is a software GPU; false if the daemon does not say. */
bool environment_on_software_gpu(const struct cli *c);

#endif
