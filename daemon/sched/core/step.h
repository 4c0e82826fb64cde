/* SPDX-License-Identifier: Apache-2.0
 *
 * A step of the scheduler (sched.h): events in, actions out.
 */
#ifndef DAEMON_SCHED_CORE_STEP_H
#define DAEMON_SCHED_CORE_STEP_H

#include <stdint.h>

#include "daemon/sched/sched.h"

/* Takes one step. Returns 0, or -ENOMEM with the state unchanged. */
int sched_step(struct sched *s, uint64_t now_ns, const struct sched_event *events, uint32_t count,
               struct sched_actions *out);

#endif
