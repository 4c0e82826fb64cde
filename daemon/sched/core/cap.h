/* SPDX-License-Identifier: Apache-2.0
 *
 * K: the number of operations of a job that may be in flight on the device.
 */
#ifndef DAEMON_SCHED_CORE_CAP_H
#define DAEMON_SCHED_CORE_CAP_H

#include <stdint.h>

#include "daemon/sched/state.h"

/* Returns the job's current K. */
uint32_t cap_of(const struct sched_state *st, const struct sched_job *j);
/* Updates the job's mean operation time, and with it K, when an operation has ended. */
static inline void cap_learn(struct sched_state *st, struct sched_job *j, uint64_t busy_ns) {
    j->op_ns = state_mean(j->op_ns, busy_ns);
    if (st->config->preempt_ns) j->cap = cap_of(st, j);
}

#endif
