/* SPDX-License-Identifier: Apache-2.0
 *
 * K: how many operations of a job may be on the device.
 */
#ifndef DAEMON_SCHED_CORE_CAP_H
#define DAEMON_SCHED_CORE_CAP_H

#include <stdint.h>

#include "daemon/sched/state.h"

/* K of the job as it is now: how many of its operations may be on the device. */
uint32_t cap_of(const struct sched_state *st, const struct sched_job *j);
/* An operation of it took so much of the device's time. */
static inline void cap_learn(struct sched_state *st, struct sched_job *j, uint64_t busy_ns) {
    j->op_ns = state_mean(j->op_ns, busy_ns);
    if (st->config->preempt_ns) j->cap = cap_of(st, j);
}

#endif
