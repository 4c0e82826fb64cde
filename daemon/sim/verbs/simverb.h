/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the verbs of salus-sim: output streams, options, and error reports.
 */
#ifndef DAEMON_SIM_VERBS_SIMVERB_H
#define DAEMON_SIM_VERBS_SIMVERB_H

#include <stdio.h>

#include "daemon/sim/verbs/simcli_exit.h"
#include "daemon/sim/verbs/simopt.h"
#include "daemon/sim/workload/workload.h"

struct simcli {
    FILE *out, *err;
    struct simopt opt;
};

/* Prints the message on c->err; returns `status`. */
__attribute__((format(printf, 3, 4))) int simverb_fail(struct simcli *c, int status,
                                                       const char *fmt, ...);
/* Reads a workload. On failure prints its errors on c->err and returns an exit status. */
int simverb_read(struct simcli *c, struct workload *w, const char *path);
int simverb_close(struct simcli *c, FILE *f);

#endif
