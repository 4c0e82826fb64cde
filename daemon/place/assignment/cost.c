/* SPDX-License-Identifier: Apache-2.0
 *
 * The paper's sums, and bounds on them. A bound is computed with the same steps as a cost, so that
 * rounding cannot put it above a cost that it bounds.
 */
#include "daemon/place/assignment/cost.h"

#include "daemon/place/assignment/capacity.h"
#include "daemon/place/state/curve.h"

static double part(uint64_t used, uint64_t capacity) {
    return (double)used / (double)capacity;
}

static double weigh(const struct place *p, double memory, double util) {
    return p->config.w_mem * memory + p->config.w_util * util;
}

double cost_memory(const struct place *p, const struct demand *d, const struct gpu *gpu) {
    return part(capacity_after(&gpu->use, d), gpu->memory_bytes);
}

double cost_util(const struct place *p, const struct demand *d, const struct gpu *gpu) {
    return curve_slowdown(&p->config.curves[gpu->curve], gpu->use.util_ppm + d->util_ppm);
}

double cost_of(const struct place *p, const struct demand *d, const struct gpu *gpu) {
    return weigh(p, cost_memory(p, d, gpu), cost_util(p, d, gpu));
}

double cost_memory_least(const struct place *p, const struct demand *d,
                         const struct index_kind *kind, const struct gpus_span *span) {
    return part(capacity_least_after(span, d), kind->memory_bytes);
}

double cost_least(const struct place *p, const struct demand *d, const struct index_kind *kind,
                  const struct gpus_span *span) {
    const struct place_curve *curve = &p->config.curves[kind->curve];
    return weigh(p, cost_memory_least(p, d, kind, span),
                 curve_least(curve, span->least_ppm + d->util_ppm));
}
