/* SPDX-License-Identifier: Apache-2.0
 *
 * Computes the speed of jobs on a GPU from the true needs of all jobs there.
 *
 * CURVE: Horus, section 3.2. Every job takes 1 + f(x) times as long as alone, where x is the excess
 * of the utilisations over 1. The curve was fitted to pairs, x up to 1; above `tangent_from` it
 * continues straight.
 *
 * SHARES: GPUColo, section VI: a job's speed is its share of the GPU divided by the share that it
 * needs. The controller gives each service what its SLO needs, util / slo, before trainings get
 * anything (they sleep). Trainings get what they need of the rest. Remaining shares go to services
 * that would be slower than alone. If services together need more than a GPU, all their shares
 * shrink by the same factor. So with
 *
 *   needed  = sum of util / slo over services
 *   crowded = max(1, needed)
 *   train   = min(1, (1 - needed) / sum of util over trainings), 0 at least
 *   extra   = fraction that remains for services of what they lack to be as fast as alone
 *
 * a service's speed is (1 / slo + extra (max(1, 1 / slo) - 1 / slo)) / crowded.
 */
#include "daemon/sim/place/fleet_speed.h"

#include <math.h>

static double slowed(const struct fleet_rules *rules, double util) {
    const struct place_curve *c = &rules->curve;
    double x = util - 1, from = rules->tangent_from;
    if (x <= 0) return 1;
    if (from <= 0 || x <= from) return 1 + fmax(0, (c->a2 * x + c->a1) * x + c->a0);
    double there = (c->a2 * from + c->a1) * from + c->a0, slope = 2 * c->a2 * from + c->a1;
    return 1 + fmax(0, there + slope * (x - from));
}

/* ---- shares ---------------------------------------------------------------------------------- */

/* The speed that the SLO demands. */
static double promised(const struct fleet *f, uint32_t job) {
    return 1 / f->jobs[job].hold;
}

static double lacking(const struct fleet *f, uint32_t job) {
    return fmax(0, 1 - promised(f, job));
}

static void share(struct fleet *f, struct fleet_gpu *g) {
    double needed = 0, trained = 0, lacks = 0;
    for (uint32_t at = g->first; at != FLEET_NONE; at = f->seats[at].next) {
        uint32_t job = f->seats[at].job;
        double util = f->set->jobs[job].is.util;
        if (!f->set->jobs[job].service) {
            trained += util;
            continue;
        }
        needed += util * promised(f, job);
        lacks += util * lacking(f, job);
    }
    double left = fmax(0, 1 - needed), takes = fmin(left, trained);
    g->crowded = fmax(1, needed);
    g->train = trained > 0 ? takes / trained : 1;
    g->extra = lacks > 0 ? fmin(1, (left - takes) / lacks) : 0;
}

/* ---- both models ----------------------------------------------------------------------------- */

void fleet_speed_of_gpu(struct fleet *f, uint32_t gpu) {
    struct fleet_gpu *g = &f->gpus[gpu];
    double util = 0;
    uint32_t jobs = 0, services = 0;
    for (uint32_t at = g->first; at != FLEET_NONE; at = f->seats[at].next) {
        util += f->set->jobs[f->seats[at].job].is.util;
        services += f->set->jobs[f->seats[at].job].service;
        jobs++;
    }
    f->used += (jobs > 0) - (g->jobs > 0);
    f->used_services += (services > 0) - (g->services > 0);
    f->util += fmin(1, util) - fmin(1, g->util);
    g->jobs = jobs;
    g->services = services;
    g->util = util;
    g->slowed = slowed(f->rules, util);
    if (f->rules->speeds == FLEET_SHARES) share(f, g);
}

static double on_gpu(const struct fleet *f, uint32_t job, const struct fleet_gpu *g) {
    if (f->rules->speeds == FLEET_CURVE) return 1 / g->slowed;
    if (!f->set->jobs[job].service) return g->train;
    return (promised(f, job) + g->extra * lacking(f, job)) / g->crowded;
}

/* The job runs at the speed of its slowest GPU. */
double fleet_speed_of_job(const struct fleet *f, uint32_t job) {
    double least = INFINITY;
    for (uint32_t at = f->jobs[job].seats; at != FLEET_NONE; at = f->seats[at].next_of_job)
        least = fmin(least, on_gpu(f, job, &f->gpus[f->seats[at].gpu]));
    return least;
}
