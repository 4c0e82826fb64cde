/* SPDX-License-Identifier: Apache-2.0
 *
 * Jobs drawn by rule, as functions of a seed: those of the papers' experiments, whose traces are
 * not to be had, and a day of any cluster. The rules and their reasons are in
 * docs/results/2026-11-cluster.md.
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
    uint32_t jobs;    /* of `day`; 0: 10,000 */
    double load;      /* of `day`: GPU time asked for, of the cluster's; 0: 0.9 */
    double slo;       /* of services; 0: the kind's own */
    double mean_gpus; /* of `gpucolo`: in use on the average, one job each; 0: 305.9 */
    double days, busy_from,
        busy_until;            /* of it; services come twice as often between; 0: 57, 20, 40 */
    double service_part;       /* of it: of the jobs outside of these days; 0: 0.75 */
    const struct jobset *pods; /* of it: what jobs are drawn from */
};

/* Adds to a set that has its nodes already. 0; -EINVAL: there is no such kind, or it lacks
 * something, with a sentence in `why`; -E2BIG, -ENOMEM. */
int jobset_draw(struct jobset *s, const struct jobset_draw *draw, char *why, size_t cap);

/* The kinds, a line each. */
void jobset_draw_explain(FILE *out);

#endif
