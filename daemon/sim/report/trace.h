/* SPDX-License-Identifier: Apache-2.0
 *
 * A run as text, for reading, for tests, and for `salus-sim replay`: a recording
 * (daemon/sched/record/notation.h). J is the job's place in order of arrival, from 1.
 */
#ifndef DAEMON_SIM_REPORT_TRACE_H
#define DAEMON_SIM_REPORT_TRACE_H

#include <stdio.h>

#include "daemon/sim/run/sim.h"

/* Of a sim_watch, whose `self` is the FILE. */
void trace_began(void *out, const struct sched_config *config);
void trace_stepped(void *out, uint64_t now_ns, const struct sched_event *events, uint32_t count,
                   const struct sched_actions *actions);
/* Once the run is over. */
void trace_ended(void *out);

#endif
