/* SPDX-License-Identifier: Apache-2.0
 *
 * Opportunistic bin packing (Horus, section 5.2): memory alone decides, "similar to least-loaded":
 * the GPU of which the least part is used by (8).
 */
#include "daemon/place/assignment/cost.h"
#include "daemon/place/policy/place_policies.h"
#include "daemon/place/state/place_policy.h"

const struct place_policy place_obp = {
    .name = "obp",
    .order = POLICY_IN_TURN,
    .one_shelf = true,
    .cost = cost_memory,
    .bound = cost_memory_least,
};
