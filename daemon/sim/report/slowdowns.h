/* SPDX-License-Identifier: Apache-2.0
 *
 * A table with one row per job: its time alone, and its time relative to that under each policy.
 */
#ifndef DAEMON_SIM_REPORT_SLOWDOWNS_H
#define DAEMON_SIM_REPORT_SLOWDOWNS_H

#include <stdio.h>

#include "daemon/sim/run/sim.h"

#define SLOWDOWNS_JOBS 32u /* a larger table would be unreadable; JSON lists all jobs */
#define SLOWDOWNS_POLICIES 16u

struct slowdowns {
    const char *policies[SLOWDOWNS_POLICIES];
    double factors[SLOWDOWNS_POLICIES][SLOWDOWNS_JOBS]; /* 0: nothing completed */
    uint32_t count;
};

void slowdowns_add(struct slowdowns *s, const char *policy, const struct workload *w,
                   const struct sim_result *r, const struct sim_result *alone);
/* Writes nothing if no policy was added. */
void slowdowns_table(const struct slowdowns *s, const struct workload *w,
                     const struct sim_result *alone, FILE *out);

#endif
