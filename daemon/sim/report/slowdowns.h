/* SPDX-License-Identifier: Apache-2.0
 *
 * A line a job: what it takes alone, and how many times as long under each policy.
 */
#ifndef DAEMON_SIM_REPORT_SLOWDOWNS_H
#define DAEMON_SIM_REPORT_SLOWDOWNS_H

#include <stdio.h>

#include "daemon/sim/run/sim.h"

#define SLOWDOWNS_JOBS                                                        \
    32u /* the table of more would say nothing at a glance; JSON has them all \
         */
#define SLOWDOWNS_POLICIES 16u

struct slowdowns {
    const char *policies[SLOWDOWNS_POLICIES];
    double factors[SLOWDOWNS_POLICIES][SLOWDOWNS_JOBS]; /* 0: came to nothing */
    uint32_t count;
};

void slowdowns_add(struct slowdowns *s, const char *policy, const struct workload *w,
                   const struct sim_result *r, const struct sim_result *alone);
/* Nothing where no policy was added. */
void slowdowns_table(const struct slowdowns *s, const struct workload *w,
                     const struct sim_result *alone, FILE *out);

#endif
