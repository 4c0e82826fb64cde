/* SPDX-License-Identifier: Apache-2.0
 *
 * GSLICE as GPUColo compares with it (section VIII): services share GPUs with services; each
 * training has its GPUs alone. Services share as long as the slowdown of all of them, by the curve,
 * is within the slack of each. A service without slack shares as long as no job is slowed down.
 */
#include <math.h>

#include "daemon/place/policy/fullest.h"
#include "daemon/place/policy/place_policies.h"
#include "daemon/place/state/curve.h"
#include "daemon/place/state/place_policy.h"

static bool closed(const struct gpus_use *use) {
    return use->jobs > use->services;
}

static bool fits(const struct place *p, const struct demand *d, const struct gpu *gpu) {
    uint64_t ppm = gpu->use.util_ppm + d->util_ppm;
    if (d->kind == PLACE_TRAINING) return !gpu->use.jobs;
    if (ppm > p->util_most_ppm) return false;
    return curve_most(&p->config.curves[gpu->curve], ppm) <= fmin(gpu->use.slack, d->slack);
}

static uint64_t room(const struct place *p, const struct gpus_use *use, uint64_t within_ppm) {
    uint64_t most = within_ppm < p->util_most_ppm ? within_ppm : p->util_most_ppm;
    return curve_left(most, use->util_ppm);
}

static uint64_t limit(const struct place *p, const struct demand *d, const struct place_curve *c) {
    uint64_t ppm = d->kind == PLACE_SERVICE ? curve_within(c, d->slack) : d->util_ppm;
    return ppm < p->util_most_ppm ? ppm : p->util_most_ppm;
}

const struct place_policy place_gslice = {
    .name = "gslice",
    .order = POLICY_IN_TURN,
    .by_util = true,
    .fills = true,
    .closed = closed,
    .fits = fits,
    .limit = limit,
    .room = room,
    .cost = fullest_cost,
    .bound = fullest_bound,
};
