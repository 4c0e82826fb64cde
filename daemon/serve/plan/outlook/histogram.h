/* SPDX-License-Identifier: Apache-2.0
 *
 * Empirical distribution of the times alone of one application's requests (thesis, section 4.3.2),
 * stored as counts. Bins are fixed, 32 per doubling of the time, from 4 us to 137 s: a bin is at
 * most 3.2 % wide, and its edges are whole nanoseconds.
 *
 * "In order to adapt to drifts in the input, ORLOJ resets its profiling memory every once a while":
 * there are two windows, and a reset drops the older one, so that a new window does not start from
 * nothing. A reset waits until the younger window has HISTOGRAM_ENOUGH times.
 *
 * Owner: the holder. Thread: its owner's.
 */
#ifndef DAEMON_SERVE_PLAN_OUTLOOK_HISTOGRAM_H
#define DAEMON_SERVE_PLAN_OUTLOOK_HISTOGRAM_H

#include <stdint.h>

#define HISTOGRAM_SUB_BITS 5u    /* log2 of the bins per doubling */
#define HISTOGRAM_LEAST_BITS 12u /* times below 2^12 ns count in the first bin */
#define HISTOGRAM_MOST_BITS 37u  /* times of 2^37 ns and more count in the last bin */
#define HISTOGRAM_BINS (((HISTOGRAM_MOST_BITS - HISTOGRAM_LEAST_BITS) << HISTOGRAM_SUB_BITS) + 1u)
#define HISTOGRAM_ENOUGH 30u

struct histogram_window {
    uint32_t counts[HISTOGRAM_BINS];
    uint64_t count, sum_ns, least_ns, most_ns;
};

struct histogram {
    struct histogram_window windows[2]; /* windows[young] is the younger one */
    uint32_t young;
    /* Least duration of a window, 0: unlimited; start of the younger window. */
    uint64_t window_ns, began_ns;
};

void histogram_init(struct histogram *h, uint64_t window_ns, uint64_t now_ns);
/* Adds the time of a request that ran alone. */
void histogram_add(struct histogram *h, uint64_t ns, uint64_t now_ns);

uint64_t histogram_count(const struct histogram *h);
/* Exact; 0 without samples. */
double histogram_mean(const struct histogram *h);
/* The time that `milli` thousandths of the samples do not exceed: linear within a bin, and never
 * outside of the observed range. 0 without samples. */
uint64_t histogram_quantile(const struct histogram *h, uint32_t milli);
/* F at every edge: cdf[i] is the fraction of samples below histogram_edge(i). There are
 * HISTOGRAM_BINS + 1 entries, the last is 1. At least one sample is required. */
void histogram_cdf(const struct histogram *h, double *cdf);

/* The bin of a time, and the start of a bin: bin i is [edge(i), edge(i + 1)). */
uint32_t histogram_bin(uint64_t ns);
uint64_t histogram_edge(uint32_t bin);

#endif
