/* SPDX-License-Identifier: Apache-2.0
 *
 * A profile of which neither class nor SMs are known becomes nothing.
 */
#include "daemon/kernels/kadopt.h"

#include <stdlib.h>
#include <string.h>

static int adopt_profile(struct kset *into, const struct kprofile *p) {
    struct kprofile_hint h = {.sms = p->sms,
                              .class = p->class,
                              .compute_milli = p->compute_milli,
                              .memory_milli = p->memory_milli};

    if (h.class == KPROFILE_UNKNOWN && h.sms == 0) return 0;
    memcpy(h.name, p->name, sizeof(h.name));
    memcpy(h.grid, p->key.grid, sizeof(h.grid));
    memcpy(h.block, p->key.block, sizeof(h.block));
    return kset_add_hints(into, &h, 1);
}

int kadopt(struct kset *s) {
    struct kset into;
    int rc = 0;

    kset_init(&into, s->seed);
    for (uint32_t i = 0; i < s->hint_count && rc == 0; i++) {
        struct kprofile_hint h = s->hints[i];

        h.duration_ns = 0;
        rc = kset_add_hints(&into, &h, 1);
    }
    for (uint32_t i = 0; i < s->count && rc == 0; i++)
        rc = adopt_profile(&into, &s->items[i]);
    if (rc == 0) {
        struct kset old = *s;

        *s = into;
        into = old;
    }
    kset_finish(&into);
    return rc;
}
