/* SPDX-License-Identifier: Apache-2.0
 *
 * Round after round: slurmctld is looked at, a round is planned, and told. What goes wrong with one
 * job is said and is the next round's affair.
 *
 * Owner: main. Thread: its one.
 */
#ifndef DAEMON_PLACE_SLURM_PLACER_PLACER_H
#define DAEMON_PLACE_SLURM_PLACER_PLACER_H

#include "daemon/place/slurm/placer/fresh.h"
#include "daemon/place/slurm/placer/options.h"

struct placer {
    const struct options *options;
    struct fresh nodes;   /* their reports */
    struct fresh refused; /* jobs of which it was said that they can run nowhere */
};

/* One round: 0 or -errno, which was logged. */
int placer_round(struct placer *p);
void placer_finish(struct placer *p);

#endif
