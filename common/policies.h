/* SPDX-License-Identifier: Apache-2.0
 *
 * The policies that can be chosen, as people are shown them.
 */
#ifndef COMMON_POLICIES_H
#define COMMON_POLICIES_H

#include <stdbool.h>

struct policies_entry {
    bool kernel; /* a kernel policy; else a lane policy */
    const char *name, *sentence;
};

/* In the order of policies.def; NULL beyond the last. */
const struct policies_entry *policies_at(int index);
/* NULL: there is no such policy of that kind. */
const struct policies_entry *policies_find(bool kernel, const char *name);

#endif
