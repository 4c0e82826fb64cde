/* SPDX-License-Identifier: Apache-2.0
 *
 * Histogram of durations. Every halving keeps the sum within the limits that the bins imply, so
 * that the same limits can validate a distribution read from a file.
 */
#include "daemon/kernels/kernel_dist.h"

#include <string.h>

static uint32_t bin_of(uint64_t ns) {
    if (ns >> KERNEL_DIST_LEAST_LOG2 == 0) return 0;
    if (ns > KERNEL_DIST_NS_MAX) return KERNEL_DIST_BINS - 1;
    uint32_t octave = 63u - (uint32_t)__builtin_clzll(ns);
    return 8 * (octave - KERNEL_DIST_LEAST_LOG2) + (uint32_t)(ns >> (octave - 3) & 7);
}

uint64_t kernel_dist_bin_start(uint32_t bin) {
    return bin == 0 ? 0 : (8ull + bin % 8) << (KERNEL_DIST_LEAST_LOG2 - 3 + bin / 8);
}

/* Computes the least and the largest sum that samples in these bins can have. */
static void bounds(const struct kernel_dist *d, uint64_t *least, uint64_t *most) {
    *least = *most = 0;
    for (uint32_t i = 0; i < KERNEL_DIST_BINS; i++) {
        *least += d->bins[i] * kernel_dist_bin_start(i);
        *most += d->bins[i] * (kernel_dist_bin_start(i + 1) - 1);
    }
}

static uint64_t clamp(uint64_t value, uint64_t least, uint64_t most) {
    return value < least ? least : value > most ? most : value;
}

/* Drops every other sample. A bin with an odd count drops one more. The sum is halved and clamped
 * to what the remaining bins allow. */
static void halve(struct kernel_dist *d) {
    uint64_t least, most;

    d->count = 0;
    for (uint32_t i = 0; i < KERNEL_DIST_BINS; i++) {
        d->bins[i] /= 2;
        d->count += d->bins[i];
    }
    bounds(d, &least, &most);
    d->sum_ns = clamp(d->sum_ns / 2, least, most);
}

bool kernel_dist_add(struct kernel_dist *d, uint64_t ns) {
    uint32_t bin = bin_of(ns);
    bool full = d->bins[bin] == UINT16_MAX;

    if (full) halve(d);
    d->bins[bin]++;
    d->count++;
    d->sum_ns += ns < KERNEL_DIST_NS_MAX ? ns : KERNEL_DIST_NS_MAX;
    return full;
}

static bool fits(const struct kernel_dist *a, const struct kernel_dist *b) {
    for (uint32_t i = 0; i < KERNEL_DIST_BINS; i++)
        if (a->bins[i] + b->bins[i] > UINT16_MAX) return false;
    return true;
}

void kernel_dist_merge(struct kernel_dist *d, const struct kernel_dist *other) {
    struct kernel_dist more = *other;

    while (!fits(d, &more)) {
        halve(d);
        halve(&more);
    }
    for (uint32_t i = 0; i < KERNEL_DIST_BINS; i++)
        d->bins[i] = (uint16_t)(d->bins[i] + more.bins[i]);
    d->count += more.count;
    d->sum_ns += more.sum_ns;
}

uint64_t kernel_dist_mean(const struct kernel_dist *d) {
    return d->count ? d->sum_ns / d->count : 0;
}

uint64_t kernel_dist_quantile(const struct kernel_dist *d, uint32_t milli) {
    uint64_t rank = ((uint64_t)d->count * milli + 999) / 1000, before = 0;

    if (d->count == 0) return 0;
    if (rank == 0) rank = 1;
    for (uint32_t i = 0; i < KERNEL_DIST_BINS; i++) {
        uint64_t start = kernel_dist_bin_start(i);

        if (before + d->bins[i] >= rank)
            return start +
                   (kernel_dist_bin_start(i + 1) - 1 - start) * (rank - before) / d->bins[i];
        before += d->bins[i];
    }
    return KERNEL_DIST_NS_MAX;
}

bool kernel_dist_settle(struct kernel_dist *d) {
    uint64_t least, most;

    d->count = 0;
    for (uint32_t i = 0; i < KERNEL_DIST_BINS; i++)
        d->count += d->bins[i];
    bounds(d, &least, &most);
    return d->sum_ns >= least && d->sum_ns <= most;
}
