/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs rounds: reads slurmctld's state, plans, and writes the result. An error with one job is
 * logged and left to the next round.
 *
 * Owner: main. Thread: its only one.
 */
#ifndef DAEMON_PLACE_SLURM_PLACER_PLACER_H
#define DAEMON_PLACE_SLURM_PLACER_PLACER_H

#include "daemon/place/slurm/placer/options.h"
#include "daemon/place/slurm/placer/report_age.h"

struct placer {
    const struct options *options;
    struct report_age nodes;   /* ages of the nodes' reports */
    struct report_age refused; /* jobs whose refusal was logged */
};

/* Runs one round. Returns 0 or -errno, already logged. */
int placer_round(struct placer *p);
void placer_finish(struct placer *p);

#endif
