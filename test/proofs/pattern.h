/* SPDX-License-Identifier: Apache-2.0
 *
 * Records with predictable contents: number `n` has a length and bytes that follow from n alone. So
 * a reader finds every record that is torn, lost, doubled or out of order.
 */
#ifndef TEST_PROOFS_PATTERN_H
#define TEST_PROOFS_PATTERN_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t pattern_mix(uint64_t x) { /* splitmix64 */
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* Returns the length of record n: mostly that of a launch, now and then several slots. A multiple
 * of 8, at least 8. */
static inline uint32_t pattern_bytes(uint64_t n) {
    uint64_t x = pattern_mix(n);
    return (uint32_t)(x % 16 ? 64 + (x >> 8) % 8 * 8 : 8 + (x >> 8) % 400 * 8);
}

static inline uint32_t pattern_fill(uint64_t n, unsigned char *buf) {
    uint32_t bytes = pattern_bytes(n);
    for (uint32_t at = 0; at < bytes; at += 8) {
        uint64_t word = at ? pattern_mix(n ^ (uint64_t)at << 40) : n;
        memcpy(buf + at, &word, 8);
    }
    return bytes;
}

static inline bool pattern_check(uint64_t n, const unsigned char *buf, int bytes) {
    if (bytes < 0 || (uint32_t)bytes != pattern_bytes(n)) return false;
    for (uint32_t at = 0; at < (uint32_t)bytes; at += 8) {
        uint64_t word;
        memcpy(&word, buf + at, 8);
        if (word != (at ? pattern_mix(n ^ (uint64_t)at << 40) : n)) return false;
    }
    return true;
}

#endif
