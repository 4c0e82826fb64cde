/* SPDX-License-Identifier: Apache-2.0
 *
 * Cost for policies that pack few GPUs: prefers the GPU with the highest utilisation. GPUColo's
 * simulator takes the first GPU that fits (section VI); first_fit of place_config does that.
 *
 * Owner: none, only reads. Thread: the owner's of what it reads.
 */
#ifndef DAEMON_PLACE_POLICY_FULLEST_H
#define DAEMON_PLACE_POLICY_FULLEST_H

#include "daemon/place/state/place_state.h"

/* Negative; lower for a fuller GPU. */
static inline double fullest_cost(const struct place *p, const struct demand *d,
                                  const struct gpu *gpu) {
    return -(double)(gpu->use.util_ppm + d->util_ppm);
}

static inline double fullest_bound(const struct place *p, const struct demand *d,
                                   const struct index_kind *kind, const struct gpus_span *span) {
    uint64_t limit = p->search.limit_ppm[kind->curve];
    if (limit < d->util_ppm) return 0;
    uint64_t below = gpus_span_below(span, limit - d->util_ppm);
    return below == UINT64_MAX ? 0 : -(double)(below + d->util_ppm);
}

#endif
