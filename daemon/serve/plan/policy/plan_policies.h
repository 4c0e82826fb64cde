/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of policies made from policies.def. pol_<name>.c defines struct plan_policy
 * plan_<name>.
 */
#ifndef DAEMON_SERVE_PLAN_POLICY_PLAN_POLICIES_H
#define DAEMON_SERVE_PLAN_POLICY_PLAN_POLICIES_H

#include <stdint.h>

struct plan_policy;

/* NULL if there is no such policy. */
const struct plan_policy *plan_policy_find(const char *name);

/* Name and description of the index-th policy; NULL past the last. */
const char *plan_policy_name(uint32_t index);
const char *plan_policy_sentence(uint32_t index);

#define PLAN_POLICY(name, sentence) extern const struct plan_policy plan_##name;
#include "daemon/serve/plan/policy/policies.def"

#endif
