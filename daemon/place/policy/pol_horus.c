/* SPDX-License-Identifier: Apache-2.0
 *
 * Horus: Algorithm 1 with one queue and the cheapest GPUs by (7).
 */
#include "daemon/place/assignment/cost.h"
#include "daemon/place/policy/place_policies.h"
#include "daemon/place/state/place_policy.h"

const struct place_policy place_horus = {
    .name = "horus",
    .order = POLICY_ROUNDS,
    .queues = 1,
    .cost = cost_of,
    .bound = cost_least,
};
