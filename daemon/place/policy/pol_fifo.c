/* SPDX-License-Identifier: Apache-2.0
 *
 * FIFO (Horus, section 5.2): a job gets idle GPUs, without co-location, strictly in order. A job
 * that finds none blocks all later ones: the head-of-line blocking that the paper criticises. Of
 * idle GPUs the one that arrived first is taken.
 */
#include "daemon/place/policy/place_policies.h"
#include "daemon/place/state/place_policy.h"

static bool closed(const struct gpus_use *use) {
    return use->jobs > 0;
}

const struct place_policy place_fifo = {
    .name = "fifo",
    .order = POLICY_STRICT,
    .closed = closed,
};
