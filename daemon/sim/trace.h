/* SPDX-License-Identifier: Apache-2.0
 *
 * A run as text, a line a step, for reading and for tests: `@seconds event... -> action...`.
 *
 *   +J  joined      J:K  iteration K submitted   J=K  done         J|  boundary
 *   J?  asks for P and E   J!  measured   -J  left   tick  the time that was asked for
 *
 *   admit J to L    refuse J (why)   run J:K     turn J in L       move J to L
 *   grant J   deny J   lane L = size   spill J   restore J   out J   in J
 *
 * J is the job's place in order of arrival, from 1. ARM is left out.
 */
#ifndef DAEMON_SIM_TRACE_H
#define DAEMON_SIM_TRACE_H

#include <stdio.h>

#include "daemon/sim/sim.h"

/* `self` of the watch is the FILE. */
void trace_stepped(void *out, uint64_t now_ns, const struct sched_event *events, uint32_t count,
                   const struct sched_actions *actions);

#endif
