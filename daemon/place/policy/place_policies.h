/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of policies: policies.def, with struct place_policy place_<name> in pol_<name>.c.
 */
#ifndef DAEMON_PLACE_POLICY_PLACE_POLICIES_H
#define DAEMON_PLACE_POLICY_PLACE_POLICIES_H

struct place_policy;

/* NULL: there is none. A NULL name: the first. */
const struct place_policy *place_policies_find(const char *name);

/* The policies' names, NULL behind the last. */
const char *const *place_policies(void);

#define PLACE_POLICY(name, sentence) extern const struct place_policy place_##name;
#include "daemon/place/policy/policies.def"

#endif
