/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of policies.
 */
#include "daemon/sched/policy.h"

#include <string.h>

static const struct policy *const policies[] = {&pol_streams};

const struct policy *policy_find(const char *name) {
    for (size_t i = 0; i < sizeof(policies) / sizeof(policies[0]); i++)
        if (strcmp(policies[i]->name, name) == 0) return policies[i];
    return NULL;
}
