/* SPDX-License-Identifier: Apache-2.0
 *
 * Horus-f: Algorithm 1 with three queues. The paper "also allows reservation for starving jobs"
 * without details; node_reservation.h implements it.
 */
#include "daemon/place/assignment/cost.h"
#include "daemon/place/policy/place_policies.h"
#include "daemon/place/state/place_policy.h"

const struct place_policy place_horus_f = {
    .name = "horus_f",
    .order = POLICY_ROUNDS,
    .queues = 3,
    .fair = true,
    .cost = cost_of,
    .bound = cost_least,
};
