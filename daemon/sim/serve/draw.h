/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers that look random, the same on every machine: SplitMix64 (Steele, Lea, Flood, OOPSLA
 * 2014), and from it, without a logarithm, exponential and nearly normal ones.
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

/* Of mean 1, by comparisons alone (von Neumann, 1951): the first of a falling run of uniform
 * numbers that has an odd length, behind as many units as runs of even length came before. */
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

/* Of mean 0 and deviation 1: a sum of twelve, within six deviations. */
static inline double draw_normal(struct draw *d) {
    double sum = -6;
    for (int i = 0; i < 12; i++)
        sum += draw_unit(d);
    return sum;
}

#endif
