/* SPDX-License-Identifier: Apache-2.0
 *
 * Converts the profiles of a set into hints. A profile without a class and without SMs yields no
 * hint.
 */
#include "daemon/kernels/kernel_adopt.h"

#include <stdlib.h>
#include <string.h>

static int adopt_profile(struct kernel_set *into, const struct kernel_profile *p) {
    struct kernel_profile_hint h = {.sms = p->sms,
                                    .class = p->class,
                                    .compute_milli = p->compute_milli,
                                    .memory_milli = p->memory_milli};

    if (h.class == KERNEL_PROFILE_UNKNOWN && h.sms == 0) return 0;
    memcpy(h.name, p->name, sizeof(h.name));
    memcpy(h.grid, p->key.grid, sizeof(h.grid));
    memcpy(h.block, p->key.block, sizeof(h.block));
    return kernel_set_add_hints(into, &h, 1);
}

int kernel_adopt(struct kernel_set *s) {
    struct kernel_set into;
    int err = 0;

    kernel_set_init(&into, s->seed);
    for (uint32_t i = 0; i < s->hint_count && err == 0; i++) {
        struct kernel_profile_hint h = s->hints[i];

        h.duration_ns = 0;
        err = kernel_set_add_hints(&into, &h, 1);
    }
    for (uint32_t i = 0; i < s->count && err == 0; i++)
        err = adopt_profile(&into, &s->items[i]);
    if (err == 0) {
        struct kernel_set old = *s;

        *s = into;
        into = old;
    }
    kernel_set_finish(&into);
    return err;
}
