/* SPDX-License-Identifier: Apache-2.0
 *
 * Shares that no measurement changes, for comparison (GPUColo, section III). Simple "evenly divides
 * the GPU resource among all co-located jobs"; Conservative "allocates 40% of the GPU utilization
 * to each inference job and 10% to each training job", of which there are two: the services
 * together have a part, the others the rest.
 */
#include "daemon/sched/control/controller.h"

static uint32_t equal_sms(const void *own, const struct controlled *now, uint32_t job) {
    return controller_sms(now->st, 1.0 / (now->services + now->others));
}

static uint32_t careful_sms(const void *own, const struct controlled *now, uint32_t job) {
    double part = now->st->config->services_part / 1e3;
    if (controller_serves(&now->st->jobs[job]))
        return controller_sms(now->st, part / now->services);
    return controller_sms(now->st, (1 - part) / now->others);
}

const struct controller control_simple = {.name = "simple", .sms = equal_sms};
const struct controller control_conservative = {.name = "conservative", .sms = careful_sms};
