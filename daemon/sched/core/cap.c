/* SPDX-License-Identifier: Apache-2.0
 *
 * K, the operations of one job that may be on the device at a time, so that whoever comes next
 * waits for K operations and not for a queue. With a target for that wait, K follows the length of
 * the job's operations; without one it is as chosen.
 */
#include "daemon/sched/core/cap.h"

#define CAP_LEAST                                                                  \
    2u /* one runs, one is ready behind it: fewer leave the device idle in between \
        */
#define CAP_MOST 64u

uint32_t cap_of(const struct sched_state *st, const struct sched_job *j) {
    const struct policy_config *c = st->config;
    if (!c->preempt_ns || !j->op_ns || state_high(j)) return c->inflight_cap;
    uint64_t fit = c->preempt_ns / j->op_ns;
    return fit < CAP_LEAST ? CAP_LEAST : fit > CAP_MOST ? CAP_MOST : (uint32_t)fit;
}
