/* SPDX-License-Identifier: Apache-2.0
 *
 * Pseudo-random numbers as a function of their arguments (the finaliser of SplitMix64: Steele, Lea,
 * Flood, OOPSLA 2014). There is no state, so a job's numbers do not depend on the order in which a
 * policy runs it. Pure.
 */
#ifndef DAEMON_SIM_BASE_PRNG_H
#define DAEMON_SIM_BASE_PRNG_H

#include <stdint.h>

#define PRNG_GOLDEN 0x9e3779b97f4a7c15ull

static inline uint64_t prng_mix(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

/* The n-th number of stream `stream` under this seed. */
static inline uint64_t prng_at(uint64_t seed, uint64_t stream, uint64_t n) {
    return prng_mix(prng_mix(prng_mix(seed + PRNG_GOLDEN) ^ (stream + 1) * PRNG_GOLDEN) +
                    (n + 1) * PRNG_GOLDEN);
}

/* In (0, 1): never 0, so that its logarithm is finite. */
static inline double prng_unit(uint64_t bits) {
    return ((double)(bits >> 11) + 0.5) * 0x1p-53;
}

#endif
