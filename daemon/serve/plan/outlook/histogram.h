/* SPDX-License-Identifier: Apache-2.0
 *
 * How long requests of one application take alone: an empirical distribution (thesis, section
 * 4.3.2), which is nothing but counts. Bins are fixed, 32 to each doubling of the time, from 4 us
 * to 137 s: a bin is at most 3.2 % wide, wherever the times are, and edges are whole nanoseconds.
 *
 * "In order to adapt to drifts in the input, ORLOJ resets its profiling memory every once a while":
 * there are two windows, and a reset forgets the older one, so that a new window does not begin
 * with nothing. It waits until the younger one has HISTOGRAM_ENOUGH times.
 *
 * Owner: who holds it. Thread: its owner's.
 */
#ifndef DAEMON_SERVE_PLAN_OUTLOOK_HISTOGRAM_H
#define DAEMON_SERVE_PLAN_OUTLOOK_HISTOGRAM_H

#include <stdint.h>

#define HISTOGRAM_SUB_BITS 5u    /* bins to a doubling, as a power of two */
#define HISTOGRAM_LEAST_BITS 12u /* all below 2^12 ns is in the first bin */
#define HISTOGRAM_MOST_BITS 37u  /* all from 2^37 ns on in the last */
#define HISTOGRAM_BINS (((HISTOGRAM_MOST_BITS - HISTOGRAM_LEAST_BITS) << HISTOGRAM_SUB_BITS) + 1u)
#define HISTOGRAM_ENOUGH 30u

struct histogram_window {
    uint32_t counts[HISTOGRAM_BINS];
    uint64_t count, sum_ns, least_ns, most_ns;
};

struct histogram {
    struct histogram_window windows[2]; /* the younger one is windows[young] */
    uint32_t young;
    uint64_t window_ns, began_ns; /* how long one is at least; 0: for ever */
};

void histogram_init(struct histogram *h, uint64_t window_ns, uint64_t now_ns);
/* A request that began and ended alone took `ns`. */
void histogram_add(struct histogram *h, uint64_t ns, uint64_t now_ns);

uint64_t histogram_count(const struct histogram *h);
/* Exact; 0 where there is none. */
double histogram_mean(const struct histogram *h);
/* The time that `milli` thousandths of all are within: linear within a bin, and never outside of
 * what was seen. 0 where there is none. */
uint64_t histogram_quantile(const struct histogram *h, uint32_t milli);
/* F at every edge: cdf[i] is the part of all times below histogram_edge(i); HISTOGRAM_BINS + 1 of
 * them, the last 1. There must be a time. */
void histogram_cdf(const struct histogram *h, double *cdf);

/* The bin of a time, and where bins begin: bin i is [edge(i), edge(i + 1)). */
uint32_t histogram_bin(uint64_t ns);
uint64_t histogram_edge(uint32_t bin);

#endif
