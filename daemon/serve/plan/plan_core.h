/* SPDX-License-Identifier: Apache-2.0
 *
 * The scheduler: its state, its policy and the answer being written. For plan_*.c and tests.
 *
 * Owner: the caller of plan_create. Thread: its owner's.
 */
#ifndef DAEMON_SERVE_PLAN_PLAN_CORE_H
#define DAEMON_SERVE_PLAN_PLAN_CORE_H

#include "daemon/serve/plan/state/plan_policy.h"

struct plan {
    const struct plan_policy *policy;
    struct plan_state st;
    uint64_t armed_ns;    /* time of the latest ARM; PLAN_FOREVER: none */
    uint64_t trial_at_ns; /* earliest time of the next trial of a late request */
    struct plan_action *actions;
    uint64_t *ids; /* requests of the batches sent in this step */
    uint32_t action_count, action_room, id_count, id_room;
};

#endif
