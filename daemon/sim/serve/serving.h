/* SPDX-License-Identifier: Apache-2.0
 *
 * A served model in virtual time: the scheduler's own step (daemon/serve/plan), workers that take
 * as long as (4.3) and (4.4) say, and a profiler that runs some served requests alone. Simultaneous
 * events are ordered: ends of batches by worker, then arrivals, then the scheduler.
 *
 * Owner: the caller. Thread: any.
 */
#ifndef DAEMON_SIM_SERVE_SERVING_H
#define DAEMON_SIM_SERVE_SERVING_H

#include <stdint.h>

#include "daemon/serve/plan/plan.h"
#include "daemon/sim/serve/serving_demand.h"

struct serving_result {
    /* In time; divided by all requests this is the finish rate (thesis, section 4.5.2). */
    uint32_t finished;
    uint32_t served_late, timed_out, refused;
    uint64_t batches, busy_ns, end_ns;
};

/* Serves all requests of the demand. Applications, sizes and assumed batch times in the
 * configuration are filled in from the demand. Returns 0 or -errno. */
int serving_run(const struct demand *d, const struct demand_spec *spec, struct plan_config config,
                struct serving_result *out);

#endif
