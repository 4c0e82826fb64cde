/* SPDX-License-Identifier: Apache-2.0
 *
 * GPUColo (section VIII): services and trainings share a GPU. Its controller slows trainings down
 * where services need the GPU, so that only services slow services down; they are combined as under
 * GSLICE. Trainings use the time that services leave. So that trainings progress, all jobs on a GPU
 * with trainings together want at most util_most of it; the default is the whole GPU.
 */
#include <math.h>

#include "daemon/place/policy/fullest.h"
#include "daemon/place/policy/place_policies.h"
#include "daemon/place/state/curve.h"
#include "daemon/place/state/place_policy.h"

static bool fits(const struct place *p, const struct demand *d, const struct gpu *gpu) {
    const struct gpus_use *use = &gpu->use;
    bool training = d->kind == PLACE_TRAINING || use->jobs > use->services;
    if (training && use->util_ppm + d->util_ppm > p->util_most_ppm) return false;
    if (d->kind == PLACE_TRAINING) return true;
    return curve_most(&p->config.curves[gpu->curve], use->service_ppm + d->util_ppm) <=
           fmin(use->slack, d->slack);
}

static uint64_t room(const struct place *p, const struct gpus_use *use, uint64_t within_ppm) {
    uint64_t services = curve_left(within_ppm, use->service_ppm);
    uint64_t all = curve_left(p->util_most_ppm, use->util_ppm);
    return use->jobs > use->services && all < services ? all : services;
}

static uint64_t limit(const struct place *p, const struct demand *d, const struct place_curve *c) {
    uint64_t ppm = d->kind == PLACE_SERVICE ? curve_within(c, d->slack) : 0;
    return ppm > p->util_most_ppm ? ppm : p->util_most_ppm;
}

const struct place_policy place_gpucolo = {
    .name = "gpucolo",
    .order = POLICY_IN_TURN,
    .by_util = true,
    .fills = true,
    .util_most = 1,
    .fits = fits,
    .limit = limit,
    .room = room,
    .cost = fullest_cost,
    .bound = fullest_bound,
};
