/* SPDX-License-Identifier: Apache-2.0
 *
 * A distribution of durations: a log-linear histogram, eight bins an octave from 512 ns to 34 s, so
 * that a quantile is known to an eighth of itself. Counters are small: when one is full all of them
 * are halved, so that what was seen long ago fades. Pure. Owner: the caller.
 */
#ifndef DAEMON_KERNELS_KERNEL_DIST_H
#define DAEMON_KERNELS_KERNEL_DIST_H

#include <stdbool.h>
#include <stdint.h>

#define KERNEL_DIST_LEAST_LOG2 9u /* shorter ones count in the first bin */
#define KERNEL_DIST_OCTAVES 26u
#define KERNEL_DIST_BINS (8u * KERNEL_DIST_OCTAVES)
#define KERNEL_DIST_NS_MAX \
    ((1ull << (KERNEL_DIST_LEAST_LOG2 + KERNEL_DIST_OCTAVES)) - 1) /* longer ones count as it */

/* All zeroes: empty. */
struct kernel_dist {
    uint64_t sum_ns; /* of the samples that still count; after halving, one that their bins allow */
    uint32_t count;  /* sum of the bins */
    uint16_t bins[KERNEL_DIST_BINS];
};

/* True: what was known was halved. */
bool kernel_dist_add(struct kernel_dist *d, uint64_t ns);
/* Adds all of `other`, halved as often as needed. */
void kernel_dist_merge(struct kernel_dist *d, const struct kernel_dist *other);

/* 0 while it is empty. */
uint64_t kernel_dist_mean(const struct kernel_dist *d);
/* The duration that `milli` in a thousand samples do not exceed; straight lines within a bin. */
uint64_t kernel_dist_quantile(const struct kernel_dist *d, uint32_t milli);

/* The least duration that counts in a bin; that of KERNEL_DIST_BINS is the end of the last. */
uint64_t kernel_dist_bin_start(uint32_t bin);

/* Works out `count` from the bins; false when the sum cannot be theirs. */
bool kernel_dist_settle(struct kernel_dist *d);

#endif
