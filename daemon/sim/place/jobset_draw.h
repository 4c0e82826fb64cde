/* SPDX-License-Identifier: Apache-2.0
 *
 * Draws jobs by rule, as functions of a seed: those of the papers' experiments, whose traces are
 * not public, and a day of a generic cluster. docs/results/2026-11-cluster.md explains the rules.
 *
 * Owner: the caller. Thread: any.
 */
#ifndef DAEMON_SIM_PLACE_JOBSET_DRAW_H
#define DAEMON_SIM_PLACE_JOBSET_DRAW_H

#include <stdio.h>

#include "daemon/sim/place/jobset.h"

struct jobset_draw {
    const char *kind;
    uint64_t seed;
    uint32_t jobs;    /* kind `day`; 0: 10,000 */
    double load;      /* kind `day`: requested fraction of the cluster's GPU time; 0: 0.9 */
    double slo;       /* SLO of services; 0: the kind's default */
    double mean_gpus; /* kind `gpucolo`: mean GPUs in use with one job each; 0: 305.9 */
    /* Kind `gpucolo`: services arrive twice as often between busy_from and busy_until; 0: 57, 20,
     * 40. */
    double days, busy_from, busy_until;
    double service_part; /* kind `gpucolo`: fraction of services outside of these days; 0: 0.75 */
    const struct jobset *pods; /* kind `gpucolo`: the table to draw from */
};

/* Adds jobs to a set that already has its nodes. Returns 0; -EINVAL for an unknown kind or missing
 * data, with a sentence in `why`; -E2BIG or -ENOMEM. */
int jobset_draw(struct jobset *s, const struct jobset_draw *draw, char *why, size_t cap);

/* Prints one line per kind. */
void jobset_draw_explain(FILE *out);

#endif
