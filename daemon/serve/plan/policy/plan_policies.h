/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of policies: policies.def, with struct plan_policy plan_<name> in pol_<name>.c.
 */
#ifndef DAEMON_SERVE_PLAN_POLICY_PLAN_POLICIES_H
#define DAEMON_SERVE_PLAN_POLICY_PLAN_POLICIES_H

#include <stdint.h>

struct plan_policy;

/* NULL: there is none. */
const struct plan_policy *plan_policy_find(const char *name);

/* The index-th policy's name and what it does; NULL beyond the last. */
const char *plan_policy_name(uint32_t index);
const char *plan_policy_sentence(uint32_t index);

#define PLAN_POLICY(name, sentence) extern const struct plan_policy plan_##name;
#include "daemon/serve/plan/policy/policies.def"

#endif
