/* SPDX-License-Identifier: Apache-2.0
 *
 * The traffic of global memory as NVIDIA's profilers count it: one instruction of a warp requests
 * each sector of 32 bytes once, however many of its lanes touch it. A lane's access is at most a
 * sector long and aligned, so it never crosses one. The counts are exact and equal in every build
 * of the handlers; the builds differ only in how they recognise the usual patterns.
 */
#ifndef DAEMON_DEVICE_SOFT_MEMORY_SECTORS_H
#define DAEMON_DEVICE_SOFT_MEMORY_SECTORS_H

#include <stdint.h>
#include <string.h>

#include "daemon/device/soft/code/code.h"

#if defined(__AVX512F__) && defined(__AVX512CD__)
#define SECTORS_AVX512 1
#include <immintrin.h>
#elif defined(__AVX2__)
#define SECTORS_LANES 8 /* 32-bit lanes of a vector */
#else
#define SECTORS_LANES 4
#endif

#define SECTOR_BYTES 32u
#define SECTORS_NEAR 64u    /* bits of a word: one per sector, beginning with the first lane's */
#define SECTORS_FAR_BITS 37 /* 2^32 sectors: largest distance of lanes that are compared */

/* Sectors of two runs of addresses. Each run touches every sector between its first and its
 * last. */
static inline uint32_t sectors_runs(const uint64_t first[2], const uint64_t last[2]) {
    const uint64_t a = first[0] / SECTOR_BYTES, b = first[1] / SECTOR_BYTES;
    const uint64_t a_end = last[0] / SECTOR_BYTES + 1, b_end = last[1] / SECTOR_BYTES + 1;
    const uint64_t lo = a > b ? a : b, end = a_end < b_end ? a_end : b_end;
    return (uint32_t)(a_end - a + b_end - b - (end > lo ? end - lo : 0));
}

/* Sectors of lanes at equal distances; 0: the distances differ. */
static inline uint32_t sectors_steps(const uint64_t *at) {
    const uint64_t step = at[1] - at[0];
    uint64_t off = 0;
    for (unsigned l = 0; l < WARP_LANES; l++)
        off |= at[l] ^ (at[0] + l * step);
    if (off) return 0;
    /* If the distance exceeds a sector in either direction, no two lanes share one. Otherwise no
     * sector between the first and the last is left out. */
    if (step + SECTOR_BYTES > 2 * SECTOR_BYTES) return WARP_LANES;
    const uint64_t a = at[0] / SECTOR_BYTES, b = at[WARP_LANES - 1] / SECTOR_BYTES;
    return (uint32_t)(a < b ? b - a : a - b) + 1;
}

/* Counts sectors for any pattern, one lane after the other. Of the lanes that touch a sector the
 * lowest counts. */
static inline uint32_t sectors_apart(const uint64_t *at, uint32_t mask) {
    uint32_t count = 0;
    for (uint32_t left = mask; left; left &= left - 1, count++)
        for (uint32_t later = left & (left - 1); later; later &= later - 1)
            if (!((at[__builtin_ctz(later)] ^ at[__builtin_ctz(left)]) / SECTOR_BYTES))
                left &= ~(1u << __builtin_ctz(later));
    return count;
}

#ifdef SECTORS_AVX512

/* Counts sectors for any pattern. Each lane is compared with the lanes before it: within a half by
 * the conflict-detection instruction, across halves by rotating the lower one. Lanes outside the
 * mask get a sector that no lane touches. */
static __attribute__((noinline)) uint32_t sectors_far(const uint64_t *at, uint32_t mask) {
    const __m512i one = _mm512_set1_epi64((long long)at[__builtin_ctz(mask)]);
    const __m512i none = _mm512_set1_epi32(-1);
    __m512i high = _mm512_setzero_si512(), v[2];
    uint32_t odd = 0, again = 0;
    for (unsigned h = 0; h < 2; h++) {
        const __mmask16 m = (__mmask16)(mask >> 16 * h);
        const __m512i a = _mm512_load_si512(at + 16 * h), b = _mm512_load_si512(at + 16 * h + 8);
        high = _mm512_mask_or_epi64(high, (__mmask8)m, high, _mm512_xor_si512(a, one));
        high = _mm512_mask_or_epi64(high, (__mmask8)(m >> 8), high, _mm512_xor_si512(b, one));
        const __m256i low = _mm512_cvtepi64_epi32(_mm512_srli_epi64(a, 5));
        const __m256i top = _mm512_cvtepi64_epi32(_mm512_srli_epi64(b, 5));
        const __m512i all = _mm512_inserti64x4(_mm512_castsi256_si512(low), top, 1);
        v[h] = _mm512_mask_mov_epi32(none, m, all);
        odd |= _mm512_mask_cmpeq_epi32_mask(m, all, none);
        const __m512i same = _mm512_conflict_epi32(v[h]);
        again |= (uint32_t)_mm512_test_epi32_mask(same, same) << 16 * h;
    }
    if (odd || _mm512_cmpge_epu64_mask(high, _mm512_set1_epi64(1ll << SECTORS_FAR_BITS)))
        return sectors_apart(at, mask);
    __m512i x = v[0], y = _mm512_alignr_epi32(x, x, 8);
    __mmask16 met = 0;
    for (unsigned step = 0; step < 8; step++) {
        met |= _mm512_cmpeq_epi32_mask(v[1], x) | _mm512_cmpeq_epi32_mask(v[1], y);
        x = _mm512_alignr_epi32(x, x, 1);
        y = _mm512_alignr_epi32(y, y, 1);
    }
    again |= (uint32_t)met << 16;
    return (uint32_t)__builtin_popcount(mask & ~again);
}

static inline uint32_t sectors_count(const uint64_t *at, uint32_t mask) {
    const uint64_t first = at[__builtin_ctz(mask)] / SECTOR_BYTES;
    const __m512i base = _mm512_set1_epi64((long long)first), one = _mm512_set1_epi64(1);
    __m512i bits = one, far = _mm512_setzero_si512();
    for (unsigned q = 0; q < 4; q++) {
        const __m512i sector = _mm512_srli_epi64(_mm512_load_si512(at + 8 * q), 5);
        const __m512i d = _mm512_maskz_sub_epi64((__mmask8)(mask >> 8 * q), sector, base);
        bits = _mm512_or_si512(bits, _mm512_sllv_epi64(one, d));
        far = _mm512_or_si512(far, d);
    }
    if (!_mm512_cmpge_epu64_mask(far, _mm512_set1_epi64(SECTORS_NEAR)))
        return (uint32_t)__builtin_popcountll((uint64_t)_mm512_reduce_or_epi64(bits));
    const uint32_t steps = mask == UINT32_MAX ? sectors_steps(at) : 0;
    return steps ? steps : sectors_far(at, mask);
}

#else

/* Counts sectors for any pattern. Each lane is compared with the lanes after it, a vector of them
 * at a time. Lanes outside the mask, and after the last one, get a sector that no lane touches. */
static __attribute__((noinline)) uint32_t sectors_far(const uint64_t *at, uint32_t mask) {
    typedef uint32_t lanes __attribute__((vector_size(4 * SECTORS_LANES)));
    uint32_t sector[2 * WARP_LANES], again[WARP_LANES], count = 0;
    const uint64_t one = at[__builtin_ctz(mask)];
    uint64_t high = 0;
    for (unsigned l = 0; l < WARP_LANES; l++) {
        const uint64_t in = 0 - (uint64_t)(mask >> l & 1);
        sector[l] = (uint32_t)(at[l] / SECTOR_BYTES | ~in);
        sector[WARP_LANES + l] = UINT32_MAX;
        high |= ((at[l] ^ one) >> SECTORS_FAR_BITS | (sector[l] == UINT32_MAX)) & in;
    }
    if (high) return sectors_apart(at, mask);
    for (unsigned first = 0; first < WARP_LANES; first += SECTORS_LANES) {
        lanes own, other, equal = {0};
        memcpy(&own, sector + first, sizeof(own));
        for (unsigned step = 1; step < WARP_LANES - first; step++) {
            memcpy(&other, sector + first + step, sizeof(other));
            equal |= (lanes)(own == other);
        }
        memcpy(again + first, &equal, sizeof(equal));
    }
    for (unsigned l = 0; l < WARP_LANES; l++)
        count += (mask >> l & 1) & ~again[l];
    return count;
}

static inline uint32_t sectors_count(const uint64_t *at, uint32_t mask) {
    typedef uint64_t quads __attribute__((vector_size(4 * SECTORS_LANES)));
    const uint32_t steps = mask == UINT32_MAX ? sectors_steps(at) : 0;
    if (steps) return steps;
    const quads first = at[__builtin_ctz(mask)] / SECTOR_BYTES - (quads){0}, in = mask - (quads){0};
    quads lane = {0}, a, bits = {0}, far = {0};
    for (unsigned l = 0; l < SECTORS_LANES / 2; l++)
        lane[l] = l;
    for (unsigned l = 0; l < WARP_LANES; l += SECTORS_LANES / 2) {
        memcpy(&a, at + l, sizeof(a));
        const quads d = (a / SECTOR_BYTES - first) & (0 - (in >> (lane + l) & 1));
        bits |= (1 + (quads){0}) << (d & (SECTORS_NEAR - 1));
        far |= d;
    }
    uint64_t all = 0, most = 0;
    for (unsigned l = 0; l < SECTORS_LANES / 2; l++) {
        all |= bits[l];
        most |= far[l];
    }
    return most < SECTORS_NEAR ? (uint32_t)__builtin_popcountll(all) : sectors_far(at, mask);
}

#endif

#endif
