/* SPDX-License-Identifier: Apache-2.0
 *
 * Counts in bins.
 */
#include "daemon/serve/plan/outlook/histogram.h"

#include <string.h>

#define SUB (1u << HISTOGRAM_SUB_BITS)

/* The first bin begins at 0. The last bin has all longer times; its end is only nominal. */
uint64_t histogram_edge(uint32_t bin) {
    if (bin == 0) return 0;
    uint32_t shift = HISTOGRAM_LEAST_BITS - HISTOGRAM_SUB_BITS + (bin >> HISTOGRAM_SUB_BITS);
    return (uint64_t)(SUB + (bin & (SUB - 1))) << shift;
}

uint32_t histogram_bin(uint64_t ns) {
    if (ns < 1ull << HISTOGRAM_LEAST_BITS) return 0;
    if (ns >= 1ull << HISTOGRAM_MOST_BITS) return HISTOGRAM_BINS - 1;
    uint32_t top = 63u - (uint32_t)__builtin_clzll(ns);
    uint32_t sub = (uint32_t)(ns >> (top - HISTOGRAM_SUB_BITS)) & (SUB - 1);
    return ((top - HISTOGRAM_LEAST_BITS) << HISTOGRAM_SUB_BITS) + sub;
}

void histogram_init(struct histogram *h, uint64_t window_ns, uint64_t now_ns) {
    memset(h, 0, sizeof(*h));
    h->window_ns = window_ns;
    h->began_ns = now_ns;
}

static void reset_window(struct histogram *h, uint64_t now_ns) {
    if (!h->window_ns || now_ns - h->began_ns < h->window_ns) return;
    if (h->windows[h->young].count < HISTOGRAM_ENOUGH) return;
    h->young ^= 1;
    h->windows[h->young] = (struct histogram_window){0};
    h->began_ns = now_ns;
}

void histogram_add(struct histogram *h, uint64_t ns, uint64_t now_ns) {
    reset_window(h, now_ns);
    struct histogram_window *w = &h->windows[h->young];
    if (!w->count || ns < w->least_ns) w->least_ns = ns;
    if (ns > w->most_ns) w->most_ns = ns;
    w->counts[histogram_bin(ns)]++;
    w->sum_ns += ns;
    w->count++;
}

static uint64_t count_in(const struct histogram *h, uint32_t bin) {
    return (uint64_t)h->windows[0].counts[bin] + h->windows[1].counts[bin];
}

uint64_t histogram_count(const struct histogram *h) {
    return h->windows[0].count + h->windows[1].count;
}

double histogram_mean(const struct histogram *h) {
    uint64_t count = histogram_count(h);
    return count ? (double)(h->windows[0].sum_ns + h->windows[1].sum_ns) / (double)count : 0;
}

static uint64_t clamp_seen(const struct histogram *h, uint64_t ns) {
    const struct histogram_window *a = &h->windows[0], *b = &h->windows[1];
    uint64_t most = a->most_ns > b->most_ns ? a->most_ns : b->most_ns;
    uint64_t least =
        !b->count || (a->count && a->least_ns < b->least_ns) ? a->least_ns : b->least_ns;
    return ns < least ? least : ns > most ? most : ns;
}

uint64_t histogram_quantile(const struct histogram *h, uint32_t milli) {
    uint64_t count = histogram_count(h), before = 0;
    double rank = (double)count * milli / 1000.0;
    for (uint32_t i = 0; count && i < HISTOGRAM_BINS; i++) {
        uint64_t here = count_in(h, i);
        if (here && (double)(before + here) >= rank) {
            double part = (rank - (double)before) / (double)here;
            double width = (double)(histogram_edge(i + 1) - histogram_edge(i));
            return clamp_seen(h, histogram_edge(i) + (uint64_t)(width * part));
        }
        before += here;
    }
    return 0;
}

void histogram_cdf(const struct histogram *h, double *cdf) {
    uint64_t count = histogram_count(h), before = 0;
    for (uint32_t i = 0; i < HISTOGRAM_BINS; i++) {
        cdf[i] = (double)before / (double)count;
        before += count_in(h, i);
    }
    cdf[HISTOGRAM_BINS] = 1;
}
