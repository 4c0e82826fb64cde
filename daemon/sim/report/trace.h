/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes a run as a recording (daemon/sched/record/notation.h), for reading, for tests, and for
 * `salus-sim replay`. A job's number is its index in order of arrival, from 1.
 */
#ifndef DAEMON_SIM_REPORT_TRACE_H
#define DAEMON_SIM_REPORT_TRACE_H

#include <stdio.h>

#include "daemon/sim/run/sim.h"

/* Callbacks of a sim_watch whose `self` is the FILE. */
void trace_began(void *out, const struct sched_config *config);
void trace_stepped(void *out, uint64_t now_ns, const struct sched_event *events, uint32_t count,
                   const struct sched_actions *actions);
/* Called when the run is over. */
void trace_ended(void *out);

#endif
