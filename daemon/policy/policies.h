/* SPDX-License-Identifier: Apache-2.0
 *
 * The policies that a user can choose, with their descriptions.
 */
#ifndef DAEMON_POLICY_POLICIES_H
#define DAEMON_POLICY_POLICIES_H

enum policies_grain { POLICIES_LANE, POLICIES_KERNEL, POLICIES_CONTROL, POLICIES_GRAINS };

struct policies_entry {
    enum policies_grain grain;
    const char *name, *sentence;
};

/* The policy with this index, from 0, in the order of policies.def; NULL past the end. */
const struct policies_entry *policies_at(int index);
/* NULL if there is no such policy of that kind. */
const struct policies_entry *policies_find(enum policies_grain grain, const char *name);
/* The kind in the notation of users: "lane", "kernel" or "control"; a static string. */
const char *policies_grain_name(enum policies_grain grain);

#endif
