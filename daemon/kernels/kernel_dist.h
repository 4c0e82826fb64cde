/* SPDX-License-Identifier: Apache-2.0
 *
 * A distribution of durations as a log-linear histogram: eight bins per octave from 512 ns to 34 s,
 * so that a quantile is accurate to an eighth of its value. Counters are 16 bits wide; when one is
 * full, all are halved, so that old samples fade. Pure. Owner: the caller.
 */
#ifndef DAEMON_KERNELS_KERNEL_DIST_H
#define DAEMON_KERNELS_KERNEL_DIST_H

#include <stdbool.h>
#include <stdint.h>

#define KERNEL_DIST_LEAST_LOG2 9u /* log2 of 512 ns; shorter durations count in the first bin */
#define KERNEL_DIST_OCTAVES 26u
#define KERNEL_DIST_BINS (8u * KERNEL_DIST_OCTAVES)
/* Longer durations count as this. */
#define KERNEL_DIST_NS_MAX ((1ull << (KERNEL_DIST_LEAST_LOG2 + KERNEL_DIST_OCTAVES)) - 1)

/* An empty distribution is all zeroes. */
struct kernel_dist {
    /* Sum of the counted samples; a halving clamps the sum to the limits of the bins. */
    uint64_t sum_ns;
    uint32_t count; /* sum of the bins */
    uint16_t bins[KERNEL_DIST_BINS];
};

/* Adds one sample. Returns true if the counters were halved before that. */
bool kernel_dist_add(struct kernel_dist *d, uint64_t ns);
/* Adds all samples of `other`; halves the counters as often as needed. */
void kernel_dist_merge(struct kernel_dist *d, const struct kernel_dist *other);

/* Mean duration in ns; 0 if empty. */
uint64_t kernel_dist_mean(const struct kernel_dist *d);
/* The duration that `milli` in a thousand samples do not exceed, interpolated linearly within a
 * bin, in ns; 0 if empty. */
uint64_t kernel_dist_quantile(const struct kernel_dist *d, uint32_t milli);

/* The least duration that counts in a bin. For KERNEL_DIST_BINS: the end of the last bin. */
uint64_t kernel_dist_bin_start(uint32_t bin);

/* Computes `count` from the bins. Returns false if no samples in these bins can have this sum. */
bool kernel_dist_settle(struct kernel_dist *d);

#endif
