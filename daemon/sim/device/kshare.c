/* SPDX-License-Identifier: Apache-2.0
 *
 * Water-filling of slots by level, and of the two units together. There are few kernels, so every
 * rule scans all of them.
 */
#include "daemon/sim/device/kshare.h"

#include <math.h>

#define SLOTS_MIN 1e-6 /* smaller amounts count as zero */
#define ROUNDS 8       /* iterations over the two levels; each changes the other level by less */

struct kshare {
    struct kshare_head *heads;
    uint32_t count;
    const struct kdev_contention *contention;
};

/* ---- slots ----------------------------------------------------------------------------------- */

/* Releases the slots of waves that end now. At earlier wave ends without competition, the next wave
 * kept the same slots. */
static void end_waves(struct kshare *k) {
    for (uint32_t i = 0; i < k->count; i++) {
        struct kshare_head *h = &k->heads[i];
        if (h->wave_ns <= 0) continue;
        if (kshare_wave_ended(h)) h->slots = 0;
        h->waves = (uint32_t)((h->done_ns + KSHARE_LEFT_NS) / h->wave_ns);
    }
}

/* Raises the least provided kernels of a level together, until none lacks slots or none are free;
 * returns the free slots. Each round raises them to the next kernel's amount, or to what one of
 * them wants. */
static double give(struct kshare *k, uint32_t level, double left) {
    while (left > SLOTS_MIN) {
        double low = INFINITY, next = INFINITY;
        uint32_t lowest = 0;
        for (uint32_t i = 0; i < k->count; i++) {
            const struct kshare_head *h = &k->heads[i];
            if (h->level == level && kshare_lacks(h) && h->slots < low) low = h->slots;
        }
        if (low == INFINITY) return left;
        for (uint32_t i = 0; i < k->count; i++) {
            const struct kshare_head *h = &k->heads[i];
            if (h->level != level || !kshare_lacks(h)) continue;
            if (h->slots == low) {
                lowest++;
                next = fmin(next, h->want);
            } else {
                next = fmin(next, h->slots);
            }
        }
        if ((next - low) * lowest > left) next = low + left / lowest;
        left -= (next - low) * lowest;
        for (uint32_t i = 0; i < k->count; i++) {
            struct kshare_head *h = &k->heads[i];
            if (h->level == level && kshare_lacks(h) && h->slots == low) h->slots = next;
        }
        if (next == low) return 0;
    }
    return left;
}

static void share_slots(struct kshare *k) {
    double left = k->contention->slots, wanted = 0;
    for (uint32_t i = 0; i < k->count; i++) {
        left -= k->heads[i].slots;
        wanted += k->heads[i].want - k->heads[i].slots;
    }
    if (wanted <= left) {
        for (uint32_t i = 0; i < k->count; i++)
            k->heads[i].slots = k->heads[i].want;
        return;
    }
    left = give(k, 1, left);
    give(k, 0, left);
}

/* Redistributes all slots; on a sliced device running kernels keep none. */
static void share_slices(struct kshare *k) {
    uint32_t several = 0;
    for (uint32_t i = 0; i < k->count; i++) {
        k->heads[i].slots = 0;
        several += k->heads[i].want > 0;
    }
    give(k, 0, give(k, 1, several > 1 ? k->contention->left : 1));
}

/* ---- units ----------------------------------------------------------------------------------- */

/* Largest fraction of each unit that one kernel may use; a kernel that wants less gets what it
 * wants. */
struct levels {
    double compute, memory;
};

static double rate_within(const struct kshare_head *h, const struct levels *l) {
    double rate = h->part;
    if (rate * h->work->compute > l->compute) rate = l->compute / h->work->compute;
    if (rate * h->work->memory > l->memory) rate = l->memory / h->work->memory;
    return rate;
}

/* The level of one unit at which the unit is fully used, for a given level of the other; INFINITY
 * if the kernels together use less. Found step by step: kernels that want less stay below the
 * level. */
static double fill(const struct kshare *k, const struct levels *other, bool memory,
                   double capacity) {
    struct levels without = *other;
    *(memory ? &without.memory : &without.compute) = INFINITY;
    double level = 0, left = capacity;
    uint32_t above;
    for (;;) {
        double next = INFINITY, below = 0;
        above = 0;
        for (uint32_t i = 0; i < k->count; i++) {
            const struct kshare_head *h = &k->heads[i];
            double use = rate_within(h, &without) * (memory ? h->work->memory : h->work->compute);
            if (use <= level) {
                below += use;
                continue;
            }
            above++;
            next = fmin(next, use);
        }
        if (above == 0) return INFINITY;
        left = capacity - below;
        if (next * above > left) return left / above;
        level = next;
    }
}

static void share_units(struct kshare *k, double capacity) {
    struct levels levels = {INFINITY, INFINITY};
    for (int round = 0; round < ROUNDS; round++) {
        double compute = fill(k, &levels, false, capacity);
        bool same = compute == levels.compute;
        levels.compute = compute;
        double memory = fill(k, &levels, true, capacity);
        same = same && memory == levels.memory;
        levels.memory = memory;
        if (same) break;
    }
    for (uint32_t i = 0; i < k->count; i++)
        k->heads[i].rate = rate_within(&k->heads[i], &levels);
}

double kshare(struct kshare_head *heads, uint32_t count, const struct kdev_contention *contention) {
    struct kshare k = {heads, count, contention};
    double compute = 0, memory = 0, used = 0;
    uint32_t several = 0;
    if (contention->sliced) {
        share_slices(&k);
    } else {
        end_waves(&k);
        share_slots(&k);
    }
    for (uint32_t i = 0; i < count; i++) {
        struct kshare_head *h = &heads[i];
        double full = h->work->full > 0 ? h->work->full : h->work->want;
        h->part = full <= 0 ? 1 : h->slots < SLOTS_MIN ? 0 : fmin(h->slots / full, 1);
        h->rate = h->part;
        several += h->slots >= SLOTS_MIN;
        compute += h->part * h->work->compute;
        memory += h->part * h->work->memory;
        used += h->slots;
    }
    double capacity = several > 1 ? contention->left : 1;
    if (compute > capacity || memory > capacity) share_units(&k, capacity);
    return used;
}
