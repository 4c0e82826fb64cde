/* SPDX-License-Identifier: Apache-2.0
 *
 * Bisection. A kernel runs if it needs fewer SMs than the threshold, so the largest useful value is
 * one more than any kernel needs.
 */
#include "daemon/sched/policy/tune.h"

static void begin_window(struct tune *t) {
    t->count = 0;
    t->sum_ns = 0;
}

static void try_next(struct tune *t) {
    t->value = t->high - t->low <= 1 ? t->low : t->low + (t->high - t->low) / 2;
    begin_window(t);
}

void tune_saw(struct tune *t, uint32_t sms) {
    if (sms <= t->most) return;
    t->most = sms;
    t->high = sms + 2; /* the lower bound stays, values above it are open again */
    t->let = 0;
}

void tune_iteration(struct tune *t, uint64_t ns, uint64_t alone_ns, uint32_t allowed_milli) {
    if (t->most == 0) return;
    if (t->let < TUNE_LET) {
        t->value = UINT32_MAX;
        if (++t->let == TUNE_LET) try_next(t);
        return;
    }
    t->sum_ns += ns;
    if (++t->count < TUNE_WINDOW) return;
    uint64_t allowed_ns = alone_ns / 1000 * allowed_milli * t->count;
    bool kept = t->sum_ns <= allowed_ns, found = t->high - t->low <= 1;
    if (kept)
        t->low = t->value;
    else if (!found)
        t->high = t->value;
    else { /* this value was good before: the jobs have changed */
        t->high = t->value ? t->value : 1;
        t->low = 0;
    }
    try_next(t);
}
