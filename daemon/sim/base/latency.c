/* SPDX-License-Identifier: Apache-2.0
 *
 * Quantiles over counted buckets.
 */
#include "daemon/sim/base/latency.h"

#include <math.h>

static double bucket_middle(uint32_t bucket) {
    uint32_t shift = bucket >> LATENCY_SUB_BITS;
    if (shift == 0) return bucket;
    uint64_t top = (1u << LATENCY_SUB_BITS) + (bucket & ((1u << LATENCY_SUB_BITS) - 1));
    double width = ldexp(1, (int)shift - 1);
    return (double)top * width + (width - 1) / 2;
}

void latency_merge(struct latency *l, const struct latency *other) {
    for (uint32_t i = 0; i < LATENCY_BUCKETS; i++)
        l->buckets[i] += other->buckets[i];
    l->count += other->count;
    l->sum_ns += other->sum_ns;
}

double latency_quantile(const struct latency *l, double q) {
    uint64_t rank = (uint64_t)ceil(q * (double)l->count), seen = 0;
    if (l->count == 0) return 0;
    for (uint32_t i = 0; i < LATENCY_BUCKETS; i++) {
        seen += l->buckets[i];
        if (seen >= rank) return bucket_middle(i);
    }
    return 0;
}
