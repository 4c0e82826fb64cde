/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of policies.
 */
#include "daemon/serve/plan/policy/plan_policies.h"
#include "daemon/serve/plan/state/plan_policy.h"

#include <string.h>

static const struct plan_policy *const policies[] = {
#define PLAN_POLICY(name, sentence) &plan_##name,
#include "daemon/serve/plan/policy/policies.def"
};

static const char *const sentences[] = {
#define PLAN_POLICY(name, sentence) sentence,
#include "daemon/serve/plan/policy/policies.def"
};

#define POLICIES (sizeof(policies) / sizeof(policies[0]))

const struct plan_policy *plan_policy_find(const char *name) {
    for (uint32_t i = 0; i < POLICIES; i++)
        if (strcmp(policies[i]->name, name) == 0) return policies[i];
    return NULL;
}

const char *plan_policy_name(uint32_t index) {
    return index < POLICIES ? policies[index]->name : NULL;
}

const char *plan_policy_sentence(uint32_t index) {
    return index < POLICIES ? sentences[index] : NULL;
}
