/* SPDX-License-Identifier: Apache-2.0
 *
 * No Co-location (GPUColo, section VIII): one job per GPU. The paper counts GPUs and has no queue;
 * here a job without a free GPU is skipped.
 */
#include "daemon/place/policy/place_policies.h"
#include "daemon/place/state/place_policy.h"

static bool closed(const struct gpus_use *use) {
    return use->jobs > 0;
}

const struct place_policy place_alone = {
    .name = "alone",
    .order = POLICY_IN_TURN,
    .closed = closed,
};
