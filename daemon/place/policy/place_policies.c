/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of policies.
 */
#include "daemon/place/policy/place_policies.h"
#include "daemon/place/state/place_policy.h"

#include <string.h>

static const struct place_policy *const policies[] = {
#define PLACE_POLICY(name, sentence) &place_##name,
#include "daemon/place/policy/policies.def"
};

static const char *const names[] = {
#define PLACE_POLICY(name, sentence) #name,
#include "daemon/place/policy/policies.def"
    NULL,
};

const struct place_policy *place_policies_find(const char *name) {
    if (!name) return policies[0];
    for (size_t i = 0; i < sizeof(policies) / sizeof(*policies); i++)
        if (!strcmp(policies[i]->name, name)) return policies[i];
    return NULL;
}

const char *const *place_policies(void) {
    return names;
}
