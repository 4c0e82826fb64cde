/* SPDX-License-Identifier: Apache-2.0
 *
 * The environment in which a program finds our libcuda.so.1, a daemon, and settings with which its
 * framework is served. Changes this process's own; one thread.
 */
#ifndef DAEMON_CTL_ENVIRONMENT_ENVIRONMENT_H
#define DAEMON_CTL_ENVIRONMENT_ENVIRONMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/ctl/cli/cli.h"

/* A variable that is set where the value is not NULL. */
struct environment_value {
    const char *variable, *value;
};

struct environment {
    uint32_t run;       /* SALUS_RUN */
    bool quiet, strict; /* nothing is said of what is set; SALUS_STRICT */
    bool no_frameworks; /* nothing of frameworks.def is set */
    bool async;         /* frameworks allocate by cudaMallocAsync */
    const struct environment_value *values;
    int value_count;
};

/* Whether its jobs will compute nothing (--device-mode=null), by the values or by what is set. */
bool environment_asks_null(const struct environment *e);

/* Sets it, for the daemon that `c` has; CLI_OK, or an exit status after a diagnostic. */
int environment_set(struct cli *c, const struct environment *e);

/* Whether that daemon's device is the software GPU; false where it does not say. */
bool environment_on_software_gpu(const struct cli *c);

#endif
