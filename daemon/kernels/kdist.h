/* SPDX-License-Identifier: Apache-2.0
 *
 * A distribution of durations: a log-linear histogram, eight bins an octave from 512 ns to 34 s, so
 * that a quantile is known to an eighth of itself. Counters are small: when one is full all of them
 * are halved, so that what was seen long ago fades. Pure. Owner: the caller.
 */
#ifndef DAEMON_KERNELS_KDIST_H
#define DAEMON_KERNELS_KDIST_H

#include <stdbool.h>
#include <stdint.h>

#define KDIST_LEAST_LOG2 9u /* shorter ones count in the first bin */
#define KDIST_OCTAVES 26u
#define KDIST_BINS (8u * KDIST_OCTAVES)
#define KDIST_NS_MAX \
    ((1ull << (KDIST_LEAST_LOG2 + KDIST_OCTAVES)) - 1) /* longer ones count as it */

/* All zeroes: empty. */
struct kdist {
    uint64_t sum_ns; /* of the samples that still count; after halving, one that their bins allow */
    uint32_t count;  /* sum of the bins */
    uint16_t bins[KDIST_BINS];
};

/* True: what was known was halved. */
bool kdist_add(struct kdist *d, uint64_t ns);
/* Adds all of `other`, halved as often as needed. */
void kdist_merge(struct kdist *d, const struct kdist *other);

/* 0 while it is empty. */
uint64_t kdist_mean(const struct kdist *d);
/* The duration that `milli` in a thousand samples do not exceed; straight lines within a bin. */
uint64_t kdist_quantile(const struct kdist *d, uint32_t milli);

/* The least duration that counts in a bin; that of KDIST_BINS is the end of the last. */
uint64_t kdist_bin_start(uint32_t bin);

/* Works out `count` from the bins; false when the sum cannot be theirs. */
bool kdist_settle(struct kdist *d);

#endif
