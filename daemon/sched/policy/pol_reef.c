/* SPDX-License-Identifier: Apache-2.0
 *
 * REEF-N as the Orion paper implements it (section 6.1). High-priority kernels bypass waiting
 * best-effort operations. At most `reef_queue` best-effort kernels are on the device, where they
 * cannot be cancelled. A best-effort kernel runs beside a high-priority one if it fits into the
 * remaining SMs and takes no longer ("schedule kernels based on their size and expected latency"),
 * whether or not both need the same unit.
 */
#include "daemon/sched/policy/policy.h"

static bool fits(const struct sched_state *st, const struct sched_kernel *high,
                 const struct sched_kernel *best) {
    uint32_t left = high->sms < st->sms ? st->sms - high->sms : 0;
    return best->sms <= left && best->mean_ns <= high->mean_ns;
}

static bool may(const struct sched_state *st, uint32_t op) {
    const struct classes *c = &st->classes;
    if (c->kernels >= st->config->reef_queue) return false;
    for (uint32_t i = 0; i < c->high_count; i++) {
        const struct sched_op *high = state_device_kernel(st, c->high[i]);
        if (high && !fits(st, &high->kernel, &st->ops[op].kernel)) return false;
    }
    return true;
}

const struct policy pol_reef = {
    .name = "reef",
    .priorities = true,
    .classes = true,
    .may = may,
};
