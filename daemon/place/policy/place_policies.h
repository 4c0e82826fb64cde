/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of policies made from policies.def. pol_<name>.c defines struct place_policy
 * place_<name>.
 */
#ifndef DAEMON_PLACE_POLICY_PLACE_POLICIES_H
#define DAEMON_PLACE_POLICY_PLACE_POLICIES_H

struct place_policy;

/* NULL if there is no such policy. A NULL name selects the first. */
const struct place_policy *place_policies_find(const char *name);

/* The policies' names; a NULL ends the list. */
const char *const *place_policies(void);

#define PLACE_POLICY(name, sentence) extern const struct place_policy place_##name;
#include "daemon/place/policy/policies.def"

#endif
