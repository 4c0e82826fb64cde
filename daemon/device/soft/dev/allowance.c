/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/device/soft/dev/allowance.h"

void allowance_set(struct allowance *a, uint32_t sms, uint32_t all, uint32_t device) {
    a->sms = sms < all ? sms : 0;
    a->all = all;
    a->device = device;
    a->due_ns = 0;
}

static uint64_t threads(const struct allowance *a) {
    return ((uint64_t)a->device * a->sms + a->all - 1) / a->all;
}

bool allowance_withholds(const struct allowance *a, uint32_t inside, uint64_t now_ns) {
    return a->sms && (inside >= threads(a) || now_ns < a->due_ns);
}

/* Computed in doubles: a slice of a process that was stopped may have been long. */
void allowance_use(struct allowance *a, uint64_t begin_ns, uint64_t ns) {
    if (!a->sms) return;
    if (a->due_ns < begin_ns) a->due_ns = begin_ns;
    a->due_ns += (uint64_t)((double)ns * a->all / ((double)a->device * a->sms));
}
