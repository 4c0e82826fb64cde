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
    const char *controls; /* compare: the same of controllers; NULL: the one of `policy` */
    struct policy_config policy;
    uint32_t seeds, starts;
    const char *goal;                  /* advise; NULL: by the jobs */
    uint32_t most_loss_milli;          /* the same */
    struct kdev_contention contention; /* 0: as calibrated */
    struct generate_config generate;   /* its seed is everybody's */
    const char *output, *chrome, *svg, *trace, *rates, *slos;
    uint64_t window_ns;
    bool json, per_job, check;
    bool any_build, trust; /* replay */
};

void simopt_init(struct simopt *o);
void simopt_finish(struct simopt *o);
/* Fills `words`, as long as argv, with what is no option. False with a sentence on `err`: usage. */
bool simopt_take(struct simopt *o, char **argv, char **words, int *count, FILE *err);

#endif
