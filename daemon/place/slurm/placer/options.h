/* SPDX-License-Identifier: Apache-2.0
 *
 * The command line of salus-placer. Pure.
 */
#ifndef DAEMON_PLACE_SLURM_PLACER_OPTIONS_H
#define DAEMON_PLACE_SLURM_PLACER_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "daemon/place/slurm/placer/ctld.h"
#include "daemon/place/slurm/placer/round.h"

struct options {
    struct cluster_report_config round;
    struct ctld_config ctld;
    uint64_t interval_ns; /* between two rounds */
    bool once, dry, help, version;
};

/* Returns 0, or -EINVAL with the reason in `why`. The arguments stay the caller's. */
int options_parse(struct options *o, char **argv, char *why, size_t cap);
void options_help(FILE *out);

#endif
