/* SPDX-License-Identifier: Apache-2.0
 *
 * Generates workloads as functions of a seed: those of the Salus paper's experiments, random ones,
 * and workloads of kernels from tables.
 */
#ifndef DAEMON_SIM_WORKLOAD_GENERATE_H
#define DAEMON_SIM_WORKLOAD_GENERATE_H

#include <stdio.h>

#include "daemon/sim/workload/generate_orion.h"

struct generate_config {
    const char *kind;
    uint64_t seed;
    /* Kind table2: one number per line, with an optional heading; NULL: log-normal. */
    const char *durations_path;
    uint32_t jobs, iterations; /* kind random; 0: default */
    uint64_t think_ns;         /* kind fig13: mean time between requests; 0: 5 s */
    uint32_t demand_milli;     /* for all jobs; 0: each job's own */
    struct generate_orion orion;
};

/* Returns 0, -EINVAL for an unknown kind, or -errno if the file cannot be used, with a sentence in
 * `errors`. */
int generate(struct workload *out, const struct generate_config *config, struct buf *errors);

/* Prints one line per kind. */
void generate_explain(FILE *out);

#endif
