/* SPDX-License-Identifier: Apache-2.0
 *
 * What the verbs of salus-sim share: where they write, what was asked for, and how they fail.
 */
#ifndef DAEMON_SIM_SIMVERB_H
#define DAEMON_SIM_SIMVERB_H

#include <stdio.h>

#include "daemon/sim/verbs/simcli_exit.h"
#include "daemon/sim/verbs/simopt.h"
#include "daemon/sim/workload/workload.h"

struct simcli {
    FILE *out, *err;
    struct simopt opt;
};

/* Says it on c->err; returns `status`. */
__attribute__((format(printf, 3, 4))) int simverb_fail(struct simcli *c, int status,
                                                       const char *fmt, ...);
/* A workload, or its faults on c->err and an exit status. */
int simverb_read(struct simcli *c, struct workload *w, const char *path);
int simverb_close(struct simcli *c, FILE *f);

/* The workload under each lane policy; whether the jobs of several should share a device. */
int simrun_verb(struct simcli *c, const char *path);
int simadvise_verb(struct simcli *c, char **paths, int count);
/* A served model's requests; argv[0] is the verb, and its options are its own. */
int simserve_verb(struct simcli *c, char **argv);
/* Tuning jobs; as serve. */
int simtune_verb(struct simcli *c, char **argv);
/* A cluster; as serve. */
int simcluster_verb(struct simcli *c, char **argv);

#endif
