/* SPDX-License-Identifier: Apache-2.0
 *
 * Computes K, the number of operations of one job that may be in flight, so that the next job waits
 * for K operations instead of a queue. With a bound on that wait (preempt_ns), K follows the length
 * of the job's operations; without one K is inflight_cap.
 */
#include "daemon/sched/core/cap.h"

#define CAP_LEAST 2u /* one runs and one is queued: with fewer the device would idle in between */
#define CAP_MOST 64u

uint32_t cap_of(const struct sched_state *st, const struct sched_job *j) {
    const struct policy_config *c = st->config;
    if (!c->preempt_ns || !j->op_ns || state_high(j)) return c->inflight_cap;
    uint64_t fit = c->preempt_ns / j->op_ns;
    return fit < CAP_LEAST ? CAP_LEAST : fit > CAP_MOST ? CAP_MOST : (uint32_t)fit;
}
