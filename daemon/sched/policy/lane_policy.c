/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of lane policies.
 */
#include "daemon/sched/policy/lane_policy.h"

#include <string.h>

static const struct lane_policy *const lane_policies[] = {
#define LANE_POLICY(name, sentence) &lane_##name,
#include "daemon/policy/policies.def"
};

const struct lane_policy *lane_policy_at(uint32_t index) {
    return index < sizeof(lane_policies) / sizeof(lane_policies[0]) ? lane_policies[index] : NULL;
}

const struct lane_policy *lane_policy_find(const char *name) {
    const struct lane_policy *p;
    for (uint32_t i = 0; (p = lane_policy_at(i)); i++)
        if (strcmp(p->name, name) == 0) return p;
    return NULL;
}
