/* SPDX-License-Identifier: Apache-2.0
 *
 * The scheduler itself: its state, its policy and the answer that it is writing. For plan_*.c
 * and tests.
 *
 * Owner: who created it. Thread: its owner's.
 */
#ifndef DAEMON_SERVE_PLAN_PLAN_CORE_H
#define DAEMON_SERVE_PLAN_PLAN_CORE_H

#include "daemon/serve/plan/state/plan_policy.h"

struct plan {
    const struct plan_policy *policy;
    struct plan_state st;
    uint64_t armed_ns;    /* what the caller was last told by ARM; PLAN_FOREVER: nothing */
    uint64_t trial_at_ns; /* from when on the next late request may be tried */
    struct plan_action *actions;
    uint64_t *ids; /* of the batches that were sent in this step */
    uint32_t action_count, action_room, id_count, id_room;
};

#endif
