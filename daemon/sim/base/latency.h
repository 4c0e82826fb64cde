/* SPDX-License-Identifier: Apache-2.0
 *
 * A distribution of times in constant space: 256 buckets per power of two, so that a quantile is
 * accurate to 0.4 %. The mean is exact.
 */
#ifndef DAEMON_SIM_BASE_LATENCY_H
#define DAEMON_SIM_BASE_LATENCY_H

#include <stdint.h>

#define LATENCY_SUB_BITS 8
#define LATENCY_BUCKETS ((65u - LATENCY_SUB_BITS) << LATENCY_SUB_BITS)

struct latency {
    uint64_t buckets[LATENCY_BUCKETS];
    uint64_t count;
    double sum_ns;
};

/* Values below 2^LATENCY_SUB_BITS have a bucket each; for larger values the leading bits select the
 * bucket. */
static inline uint32_t latency_bucket(uint64_t ns) {
    if (ns >> LATENCY_SUB_BITS == 0) return (uint32_t)ns;
    uint32_t shift = 63u - (uint32_t)__builtin_clzll(ns) - LATENCY_SUB_BITS;
    return ((shift + 1) << LATENCY_SUB_BITS) +
           (uint32_t)((ns >> shift) & ((1u << LATENCY_SUB_BITS) - 1));
}

static inline void latency_add(struct latency *l, uint64_t ns) {
    l->buckets[latency_bucket(ns)]++;
    l->count++;
    l->sum_ns += (double)ns;
}

/* Adds all of the other distribution. */
void latency_merge(struct latency *l, const struct latency *other);

/* The middle of the bucket that contains the q-quantile, 0 < q <= 1; 0 when empty. */
double latency_quantile(const struct latency *l, double q);

#endif
