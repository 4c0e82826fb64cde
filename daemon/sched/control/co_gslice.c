/* SPDX-License-Identifier: Apache-2.0
 *
 * GSLICE as GPUColo extends and compares it (section VII.A): "keeps the total MPS of both jobs at
 * 100% and increases the inference MPS (so reduces the training MPS) if the measured latency
 * becomes longer than the SLO". It acts every 25 s, and each change restarts the job. Steps of a
 * fixed size in both directions are our interpretation: the paper does not specify them. Only
 * shares change, including those of the services. gslice_restart is the cost of a change: "5-15
 * seconds" there, 0 here.
 */
#include "daemon/sched/control/controller.h"

#define LEAST 0.01 /* "between 1-100%" */

struct gslice {
    double services; /* part of the multiprocessors for services, minus a half, so that zeroed means
                        a half */
    uint64_t since_ns; /* time since the latest change */
};

static void step(void *own, const struct controlled *now) {
    struct gslice *g = own;
    const struct policy_config *c = now->st->config;
    double by = c->gslice_step / 1e3, band = c->slo_band / 1e3;
    g->since_ns += now->period_ns;
    if (now->ruling == SCHED_NONE || g->since_ns < c->gslice_period_ns) return;
    g->since_ns = 0;
    if (controller_error(now) > band)
        g->services += by;
    else if (controller_error(now) < -band)
        g->services -= by;
    if (g->services > 0.5 - LEAST) g->services = 0.5 - LEAST;
    if (g->services < LEAST - 0.5) g->services = LEAST - 0.5;
}

static double part_of(const void *own, const struct controlled *now, uint32_t job) {
    const struct gslice *g = own;
    double part = 0.5 + g->services;
    if (controller_serves(&now->st->jobs[job])) return part / now->services;
    return (1 - part) / now->others;
}

static uint64_t restart_of(const struct controlled *now) {
    return now->st->config->gslice_restart_ns;
}

const struct controller control_gslice = {
    .name = "gslice",
    .own_bytes = sizeof(struct gslice),
    .step = step,
    .part = part_of,
    .restart = restart_of,
};
