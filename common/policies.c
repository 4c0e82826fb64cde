/* SPDX-License-Identifier: Apache-2.0
 *
 * The table made from policies.def.
 */
#include "common/policies.h"

#include <stddef.h>
#include <string.h>

static const struct policies_entry table[] = {
#define LANE_POLICY(name, sentence) {false, #name, sentence},
#define KERNEL_POLICY(name, sentence) {true, #name, sentence},
#include "common/policies.def"
};

const struct policies_entry *policies_at(int index) {
    return index < (int)(sizeof(table) / sizeof(table[0])) ? &table[index] : NULL;
}

const struct policies_entry *policies_find(bool kernel, const char *name) {
    const struct policies_entry *p;
    for (int i = 0; (p = policies_at(i)); i++)
        if (p->kernel == kernel && strcmp(p->name, name) == 0) return p;
    return NULL;
}
