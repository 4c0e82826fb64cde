/* SPDX-License-Identifier: Apache-2.0
 *
 * The inputs of kernels and the checksum of their results: shared by the host's reference (C++) and
 * the program that runs the PTX (C).
 */
#ifndef TEST_RANDOM_INPUTS_H
#define TEST_RANDOM_INPUTS_H

#include <stddef.h>
#include <stdint.h>

#define INPUTS_WORDS 1024u
#define INPUTS_UNTOUCHED 0xa5a5a5a5a5a5a5a5ull /* contents of the output before the kernel runs */

static inline uint64_t inputs_mix(uint64_t x) {
    x += 0x9e3779b97f4a7c15ull;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

/* The n-th of a kernel's random numbers, from which all its inputs are made. */
static inline uint64_t inputs_number(uint64_t seed, uint32_t kernel, uint32_t n) {
    return inputs_mix(inputs_mix(seed * 1000003u + kernel) + n);
}

/* Input words: all values are possible, edge values and small ones are more frequent. */
static inline void inputs_fill(uint32_t *in, uint64_t seed, uint32_t kernel) {
    static const uint32_t edges[8] = {0, 1, 0x7fffffff, 0x80000000, 0xffffffff, 255, 31, 0x10000};
    for (uint32_t k = 0; k < INPUTS_WORDS; k++) {
        const uint64_t x = inputs_number(seed, kernel, k);
        const uint32_t kind = (uint32_t)(x >> 60);
        in[k] = kind < 2 ? edges[x & 7] : kind < 5 ? (uint32_t)(x & 63) : (uint32_t)x;
    }
}

static inline void inputs_fill_acc(uint64_t *acc, uint32_t words, uint64_t seed, uint32_t kernel) {
    for (uint32_t k = 0; k < words; k++)
        acc[k] = inputs_number(seed, kernel, INPUTS_WORDS + k) & 0x000fffff000fffffull;
}

/* The scalar parameters as 64-bit words: u8, u16, the bytes of struct mixed, u64. */
static inline void inputs_scalars(uint64_t scalars[4], uint64_t seed, uint32_t kernel) {
    for (uint32_t k = 0; k < 4; k++)
        scalars[k] = inputs_number(seed, kernel, 1u << 20 | k);
    scalars[0] &= 0xff;
    scalars[1] &= 0xffff;
}

static inline uint64_t inputs_hash(uint64_t hash, const uint64_t *words, size_t count) {
    for (size_t k = 0; k < count; k++)
        hash = inputs_mix(hash ^ words[k]);
    return hash;
}

#endif
