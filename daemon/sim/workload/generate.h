/* SPDX-License-Identifier: Apache-2.0
 *
 * Workloads of the Salus paper's experiments and random ones, as functions of a seed; and of
 * kernels from tables.
 */
#ifndef DAEMON_SIM_WORKLOAD_GENERATE_H
#define DAEMON_SIM_WORKLOAD_GENERATE_H

#include <stdio.h>

#include "daemon/sim/workload/generate_orion.h"

struct generate_config {
    const char *kind;
    uint64_t seed;
    const char *durations_path; /* table2: one number a line, a heading allowed; NULL: log-normal */
    uint32_t jobs, iterations;  /* random; 0: default */
    uint64_t think_ns;          /* fig13: mean time between requests; 0: 5 s */
    uint32_t demand_milli;      /* all jobs; 0: each its own */
    struct generate_orion orion;
};

/* 0; -EINVAL when there is no such kind, -errno when the file cannot be used; with a sentence in
 * `errors`. */
int generate(struct workload *out, const struct generate_config *config, struct buf *errors);

/* The kinds, a line each. */
void generate_explain(FILE *out);

#endif
