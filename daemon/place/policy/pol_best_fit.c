/* SPDX-License-Identifier: Apache-2.0
 *
 * Best fit by memory: the GPU with the fewest bytes left.
 */
#include "daemon/place/assignment/capacity.h"
#include "daemon/place/policy/place_policies.h"
#include "daemon/place/state/place_policy.h"

static double cost(const struct place *p, const struct demand *d, const struct gpu *gpu) {
    return (double)(gpu->memory_bytes - capacity_after(&gpu->use, d));
}

static double bound(const struct place *p, const struct demand *d, const struct index_kind *kind,
                    const struct gpus_span *span) {
    uint64_t after = capacity_most_after(span, d);
    return after < kind->memory_bytes ? (double)(kind->memory_bytes - after) : 0;
}

const struct place_policy place_best_fit = {
    .name = "best_fit",
    .order = POLICY_IN_TURN,
    .one_shelf = true,
    .fills = true,
    .cost = cost,
    .bound = bound,
};
