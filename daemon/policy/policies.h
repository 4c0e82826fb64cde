/* SPDX-License-Identifier: Apache-2.0
 *
 * The policies that can be chosen, as people are shown them.
 */
#ifndef DAEMON_POLICY_POLICIES_H
#define DAEMON_POLICY_POLICIES_H

enum policies_grain { POLICIES_LANE, POLICIES_KERNEL, POLICIES_CONTROL, POLICIES_GRAINS };

struct policies_entry {
    enum policies_grain grain;
    const char *name, *sentence;
};

/* In the order of policies.def; NULL beyond the last. */
const struct policies_entry *policies_at(int index);
/* NULL: there is no such policy of that kind. */
const struct policies_entry *policies_find(enum policies_grain grain, const char *name);
/* As people write it: "lane", "kernel", "control"; static. */
const char *policies_grain_name(enum policies_grain grain);

#endif
