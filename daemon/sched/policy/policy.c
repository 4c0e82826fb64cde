/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of policies.
 */
#include "daemon/sched/policy/policy.h"

#include <string.h>

static const struct policy *const policies[] = {
#define KERNEL_POLICY(name, sentence) &pol_##name,
#include "daemon/policy/policies.def"
};

const struct policy *policy_at(uint32_t index) {
    return index < sizeof(policies) / sizeof(policies[0]) ? policies[index] : NULL;
}

const struct policy *policy_find(const char *name) {
    for (uint32_t i = 0; policy_at(i); i++)
        if (strcmp(policy_at(i)->name, name) == 0) return policy_at(i);
    return NULL;
}
