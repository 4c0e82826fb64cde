/* SPDX-License-Identifier: Apache-2.0
 *
 * The options of salus-sim.
 */
#ifndef DAEMON_SIM_VERBS_SIMOPT_H
#define DAEMON_SIM_VERBS_SIMOPT_H

#include <stdio.h>

#include "daemon/sched/sched.h"
#include "daemon/sim/device/kdev.h"
#include "daemon/sim/workload/generate.h"

struct simopt {
    const char *policies; /* separated by commas; NULL: the verb's default */
    /* Verb compare: controllers, separated by commas; NULL: the one of `policy`. */
    const char *controls;
    struct policy_config policy;
    uint32_t seeds, starts;
    const char *goal;                  /* verb advise; NULL: derived from the jobs */
    uint32_t most_loss_milli;          /* verb advise */
    struct kdev_contention contention; /* 0: calibrated values */
    struct generate_config generate;   /* all verbs use the seed in it */
    const char *output, *chrome, *svg, *trace, *rates, *slos;
    uint64_t window_ns;
    bool json, per_job, check;
    bool any_build, trust; /* verb replay */
};

void simopt_init(struct simopt *o);
void simopt_finish(struct simopt *o);
/* Writes the arguments that are not options to `words`, which is as long as argv. Returns false
 * with a sentence on `err` for a usage error. */
bool simopt_take(struct simopt *o, char **argv, char **words, int *count, FILE *err);

#endif
