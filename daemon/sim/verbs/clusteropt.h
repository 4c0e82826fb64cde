/* SPDX-License-Identifier: Apache-2.0
 *
 * The options of `salus-sim cluster`.
 *
 * Owner: the caller. Thread: any.
 */
#ifndef DAEMON_SIM_VERBS_CLUSTEROPT_H
#define DAEMON_SIM_VERBS_CLUSTEROPT_H

#include <stdbool.h>
#include <stdio.h>

#include "daemon/sim/compare/clusters.h"

struct clusteropt {
    struct clusters_config config;
    const char *write_path, *svg_path; /* NULL: not given */
    int64_t cut_ns;                    /* 0: not given */
    bool json;
};

void clusteropt_init(struct clusteropt *o);
/* Skips argv[0]. Returns false with a sentence on `err`. */
bool clusteropt_take(struct clusteropt *o, char **argv, FILE *err);

void clusteropt_explain(FILE *out);

#endif
