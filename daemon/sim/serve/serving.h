/* SPDX-License-Identifier: Apache-2.0
 *
 * A served model in virtual time: the scheduler's own step (daemon/serve/plan), workers that take
 * as long as (4.3) and (4.4) say, and a profiler that runs a part of what was served alone. One of
 * the simultaneous things after the other: ends of batches by worker, then arrivals, then the
 * scheduler.
 *
 * Owner: the caller. Thread: any.
 */
#ifndef DAEMON_SIM_SERVE_SERVING_H
#define DAEMON_SIM_SERVE_SERVING_H

#include <stdint.h>

#include "daemon/serve/plan/plan.h"
#include "daemon/sim/serve/serving_demand.h"

struct serving_result {
    uint32_t finished; /* in time: of all requests the finish rate (thesis, section 4.5.2) */
    uint32_t served_late, timed_out, refused;
    uint64_t batches, busy_ns, end_ns;
};

/* All requests of the demand under this configuration, of which applications, sizes and what is
 * assumed of batches are filled in from the demand. 0 or -errno. */
int serving_run(const struct demand *d, const struct demand_spec *spec, struct plan_config config,
                struct serving_result *out);

#endif
