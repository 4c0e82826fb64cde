/* SPDX-License-Identifier: Apache-2.0
 *
 * Condition (5) for GPUs: used plus wanted is at most the capacity.
 */
#include "daemon/place/assignment/capacity.h"

#include "daemon/place/state/place_policy.h"

static uint64_t most(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

uint64_t capacity_after(const struct gpus_use *use, const struct demand *d) {
    return use->persistent_bytes + d->persistent_bytes +
           most(use->ephemeral_bytes, d->ephemeral_bytes);
}

uint64_t capacity_least_after(const struct gpus_span *span, const struct demand *d) {
    return d->persistent_bytes +
           most(span->least_bytes, span->least_persistent_bytes + d->ephemeral_bytes);
}

uint64_t capacity_most_after(const struct gpus_span *span, const struct demand *d) {
    return span->most_bytes + demand_bytes(d);
}

bool capacity_closed(const struct place *p, const struct gpu *gpu) {
    const struct gpus_use *use = &gpu->use;
    if (use->alone || (p->config.jobs_most && use->jobs >= p->config.jobs_most)) return true;
    return p->policy->closed && p->policy->closed(use);
}

bool capacity_fits(const struct place *p, const struct demand *d, const struct gpu *gpu) {
    const struct gpus_use *use = &gpu->use;
    if (d->alone && use->jobs) return false;
    if (capacity_after(use, d) > gpu->memory_bytes) return false;
    if (p->policy->fits) return p->policy->fits(p, d, gpu);
    return use->util_ppm + d->util_ppm <= p->util_most_ppm;
}

bool capacity_may(const struct place *p, const struct demand *d, const struct index_kind *kind,
                  const struct gpus_span *span) {
    if (span->most_cpu_milli < d->cpu_milli || span->most_memory_bytes < d->memory_bytes)
        return false;
    if (d->alone && span->least_ppm) return false;
    if (d->kind == PLACE_SERVICE && span->most_room_ppm < d->util_ppm) return false;
    return capacity_least_after(span, d) <= kind->memory_bytes &&
           span->least_ppm + d->util_ppm <= p->search.limit_ppm[kind->curve];
}

bool capacity_allows(const struct place *p, const struct demand *d, uint64_t labels,
                     enum place_kind side) {
    if (d->labels && !(d->labels & labels)) return false;
    return !p->policy->separates || side == d->kind;
}
