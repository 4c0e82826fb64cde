/* SPDX-License-Identifier: Apache-2.0
 *
 * Pseudo-random numbers that are the same on every machine: SplitMix64 (Steele, Lea, Flood, OOPSLA
 * 2014). Exponential and nearly normal numbers derive from it without a logarithm.
 *
 * Owner: the caller. Thread: any.
 */
#ifndef DAEMON_SIM_SERVE_DRAW_H
#define DAEMON_SIM_SERVE_DRAW_H

#include <stdint.h>

struct draw {
    uint64_t state;
};

static inline uint64_t draw_bits(struct draw *d) {
    uint64_t x = d->state += 0x9e3779b97f4a7c15ull;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

/* In (0, 1). */
static inline double draw_unit(struct draw *d) {
    return ((double)(draw_bits(d) >> 11) + 0.5) * 0x1p-53;
}

static inline uint32_t draw_below(struct draw *d, uint32_t bound) {
    return (uint32_t)(draw_unit(d) * bound);
}

/* Exponential with mean 1, by comparisons alone (von Neumann, 1951). Uniform numbers form falling
 * runs; the result is the first number of the first run of odd length, plus the number of even runs
 * before it. */
static inline double draw_exponential(struct draw *d) {
    for (double whole = 0;; whole++) {
        double first = draw_unit(d), last = first, next;
        uint32_t length = 1;
        while ((next = draw_unit(d)) < last) {
            last = next;
            length++;
        }
        if (length % 2) return whole + first;
    }
}

/* Nearly normal with mean 0 and deviation 1: a sum of twelve, within six deviations. */
static inline double draw_normal(struct draw *d) {
    double sum = -6;
    for (int i = 0; i < 12; i++)
        sum += draw_unit(d);
    return sum;
}

#endif
