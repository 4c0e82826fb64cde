/* SPDX-License-Identifier: Apache-2.0
 *
 * FIFO (Horus, section 5.2): a job goes onto idle GPUs, without co-location. It keeps to the order,
 * so that one that finds none holds up all behind it: the head-of-line blocking that the paper
 * has against it. Of idle GPUs the first that came is taken.
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
