/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes the number of iterations that each job completed in each window of virtual time, as lines
 * `window_start_s,job,iterations`: throughput over time.
 */
#ifndef DAEMON_SIM_REPORT_RATES_H
#define DAEMON_SIM_REPORT_RATES_H

#include <stdio.h>

#include "daemon/sim/workload/workload.h"

struct rates {
    const struct workload *w;
    FILE *out;
    uint64_t window_ns, index; /* number of the current window */
    uint32_t *counts;
};

int rates_init(struct rates *r, const struct workload *w, uint64_t window_ns, FILE *out);
/* Also writes the last window. */
void rates_finish(struct rates *r);

/* Callback of a sim_watch whose `self` is the struct rates. */
void rates_ran(void *rates, uint32_t job, uint32_t lane, uint64_t start_ns, uint64_t end_ns);

#endif
