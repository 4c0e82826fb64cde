/* SPDX-License-Identifier: Apache-2.0
 *
 * `salus-sim serve`: compares batching policies of a served model over several worlds of requests,
 * by the fraction of requests finished in time (thesis, section 4.5.2: the finish rate).
 *
 * Owner: the caller. Thread: any.
 */
#ifndef DAEMON_SIM_COMPARE_SERVE_H
#define DAEMON_SIM_COMPARE_SERVE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "daemon/serve/plan/plan.h"
#include "daemon/sim/compare/compare.h"
#include "daemon/sim/serve/serving_demand.h"

#define SERVE_SLOS 16u
#define SERVE_POLICIES 16u

struct serve_config {
    struct demand_spec demand; /* deadlines and seed are filled in */
    struct plan_config plan;   /* `policy` is filled in */
    const char *policies;      /* separated by commas; NULL: all */
    double slos[SERVE_SLOS];   /* deadlines, relative to the 0.99 quantile of times alone */
    uint32_t slo_count;
    uint64_t seed; /* first seed */
    uint32_t seeds;
};

/* Fractions of all requests, over the seeds. */
struct serve_cell {
    struct measure finished, late, timed_out, refused;
    struct measure batch; /* mean requests per batch */
    struct measure busy;  /* workers' busy time relative to elapsed time */
};

struct serve {
    const char *policies[SERVE_POLICIES];
    uint32_t policy_count;
    struct serve_cell cells[SERVE_SLOS][SERVE_POLICIES];
    struct measure p99_ns; /* 0.99 quantile of times alone */
    /* Largest possible rate in requests per second; the requested rate is `load` times this. */
    struct measure capacity;
};

/* Called before each world. */
typedef void serve_progress_fn(void *arg, uint32_t world, uint32_t of);

/* Returns 0, or -EINVAL, -ENOMEM or another error with a sentence in `why` (SIM_WHY_BYTES). */
int serve_run(struct serve *out, const struct serve_config *config, serve_progress_fn *progress,
              void *arg, char *why);

#endif
