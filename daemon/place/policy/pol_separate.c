/* SPDX-License-Identifier: Apache-2.0
 *
 * Separate (GPUColo, section VIII): GPUs of services and GPUs of trainings in a ratio, none used
 * for the other kind, one job per GPU. The cluster is divided by nodes, because a task may want all
 * GPUs of one node. The side of a node is decided when it arrives (sides.h).
 */
#include "daemon/place/policy/place_policies.h"
#include "daemon/place/state/place_policy.h"

static bool closed(const struct gpus_use *use) {
    return use->jobs > 0;
}

const struct place_policy place_separate = {
    .name = "separate",
    .order = POLICY_IN_TURN,
    .separates = true,
    .closed = closed,
};
