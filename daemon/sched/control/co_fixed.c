/* SPDX-License-Identifier: Apache-2.0
 *
 * Shares that no measurement changes, for comparison (GPUColo, section III). Simple "evenly divides
 * the GPU resource among all co-located jobs". Conservative "allocates 40% of the GPU utilization
 * to each inference job and 10% to each training job", with two of each: all services together get
 * services_part, the other jobs the rest.
 */
#include "daemon/sched/control/controller.h"

static double equal_part(const void *own, const struct controlled *now, uint32_t job) {
    return 1.0 / (now->services + now->others);
}

static double careful_part(const void *own, const struct controlled *now, uint32_t job) {
    double part = now->st->config->services_part / 1e3;
    if (controller_serves(&now->st->jobs[job])) return part / now->services;
    return (1 - part) / now->others;
}

const struct controller control_simple = {.name = "simple", .part = equal_part};
const struct controller control_conservative = {.name = "conservative", .part = careful_part};
