/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of policies made from policies.def.
 */
#include "daemon/policy/policies.h"

#include <stddef.h>
#include <string.h>

static const struct policies_entry table[] = {
#define LANE_POLICY(name, sentence) {POLICIES_LANE, #name, sentence},
#define KERNEL_POLICY(name, sentence) {POLICIES_KERNEL, #name, sentence},
#define CONTROL_POLICY(name, sentence) {POLICIES_CONTROL, #name, sentence},
#include "daemon/policy/policies.def"
};

const struct policies_entry *policies_at(int index) {
    return index < (int)(sizeof(table) / sizeof(table[0])) ? &table[index] : NULL;
}

const struct policies_entry *policies_find(enum policies_grain grain, const char *name) {
    const struct policies_entry *p;
    for (int i = 0; (p = policies_at(i)); i++)
        if (p->grain == grain && strcmp(p->name, name) == 0) return p;
    return NULL;
}

const char *policies_grain_name(enum policies_grain grain) {
    static const char *const names[POLICIES_GRAINS] = {"lane", "kernel", "control"};
    return names[grain];
}
