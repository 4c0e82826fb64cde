/* SPDX-License-Identifier: Apache-2.0
 *
 * Opportunistic bin packing (Horus, section 5.2): only memory decides, "similar to least-loaded".
 * Takes the GPU with the smallest used fraction of memory by (8).
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
