/* SPDX-License-Identifier: Apache-2.0
 *
 * Moves values between memory and registers, one element per lane, at addresses that have been
 * checked. Lanes that touch neighbouring words, or all the same word, are recognised and move as
 * vectors. The others move one by one, or are gathered and scattered. With AVX-512 everything stays
 * in registers.
 *
 * Other threads see whole elements. An element has at most 8 bytes and is naturally aligned; a
 * `mov` moves it at once, as Intel's and AMD's manuals promise. Rows move as vectors. A processor
 * may cut a vector at a cache line's end, or into halves as wide as its data path (8 bytes on the
 * oldest); the pieces are whole elements again. Gathers and scatters move one element at a time.
 * The manuals do not promise this for vectors in writing, and a C library may copy in any way.
 * Therefore rows are never left to memcpy, and test_tearing checks the result. Accesses to a
 * client's memory are volatile: the compiler must not split, repeat or merge them.
 */
#ifndef DAEMON_DEVICE_SOFT_ISA_MEMORY_ELEMENT_H
#define DAEMON_DEVICE_SOFT_ISA_MEMORY_ELEMENT_H

#include <stddef.h>

#include "daemon/device/soft/instructions/ptx_tables.h"
#include "daemon/device/soft/isa/arithmetic/isa.h"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
#define ELEMENT_AVX512 1
#include <immintrin.h>
#endif

/* A client's memory has no declared type, so these types may alias any. */
typedef uint8_t __attribute__((may_alias)) element_u8;
typedef int8_t __attribute__((may_alias)) element_s8;
typedef uint16_t __attribute__((may_alias)) element_u16;
typedef int16_t __attribute__((may_alias)) element_s16;
typedef uint32_t __attribute__((may_alias)) element_u32;
typedef int32_t __attribute__((may_alias)) element_s32;
typedef uint64_t __attribute__((may_alias)) element_u64;

/* The element of `type` at address `addr`. */
#define ELEMENT(type, addr) (*(volatile type *)(uintptr_t)(addr))

/* Races in a client's memory are the kernel's own affair. The kernel orders accesses by
 * instructions that ThreadSanitizer does not know. */
#define ELEMENT_CLIENT __attribute__((no_sanitize("thread")))

#define ELEMENT_LOOP(mask, ...)                            \
    for (uint32_t left = (mask); left; left &= left - 1) { \
        const unsigned l = (unsigned)__builtin_ctz(left);  \
        __VA_ARGS__                                        \
    }

/* Bytes of a row that move at once. */
#if defined(__AVX512F__)
#define ELEMENT_WIDE 64
#elif defined(__AVX__)
#define ELEMENT_WIDE 32
#else
#define ELEMENT_WIDE 16
#endif
typedef volatile uint8_t element_wide
    __attribute__((vector_size(ELEMENT_WIDE), aligned(1), may_alias));
typedef volatile uint8_t element_narrow __attribute__((vector_size(16), aligned(1), may_alias));

/* Copies a row of elements. `bytes` is a multiple of 16. */
ELEMENT_CLIENT static inline void element_row_copy(void *to, const void *from, size_t bytes) {
    size_t k = 0;
    for (; k + ELEMENT_WIDE <= bytes; k += ELEMENT_WIDE)
        *(element_wide *)((char *)to + k) = *(const element_wide *)((const char *)from + k);
    for (; k < bytes; k += 16)
        *(element_narrow *)((char *)to + k) = *(const element_narrow *)((const char *)from + k);
}

#ifdef ELEMENT_AVX512

static inline __m512i element_steps(int stride) {
    const __m512i iota = _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0);
    return _mm512_mullo_epi64(iota, _mm512_set1_epi64(stride));
}

ELEMENT_CLIENT static inline void element_load32(uint32_t *d, const uint64_t *at, uint64_t k,
                                                 uint32_t mask) {
    for (unsigned h = 0; h < 2; h++) {
        const __mmask16 m = (__mmask16)(mask >> 16 * h);
        if (!m) continue;
        const unsigned first = (unsigned)__builtin_ctz(m);
        const uint64_t word = at[16 * h + first], base = word - 4 * first;
        const __m512i a0 = _mm512_load_si512(at + 16 * h), a1 = _mm512_load_si512(at + 16 * h + 8);
        const __m512i row = _mm512_add_epi64(_mm512_set1_epi64((long long)base), element_steps(4));
        const __mmask8 eq0 = _mm512_cmpeq_epi64_mask(a0, row);
        const __mmask8 eq1 =
            _mm512_cmpeq_epi64_mask(a1, _mm512_add_epi64(row, _mm512_set1_epi64(32)));
        const __mmask16 eq = (__mmask16)(eq0 | eq1 << 8);
        if ((eq & m) == m) {
            const __m512i v = _mm512_maskz_loadu_epi32(m, (const void *)(uintptr_t)(base + k));
            _mm512_mask_store_epi32(d + 16 * h, m, v);
            continue;
        }
        const __m512i one = _mm512_set1_epi64((long long)word);
        const __mmask16 same =
            (__mmask16)(_mm512_cmpeq_epi64_mask(a0, one) | _mm512_cmpeq_epi64_mask(a1, one) << 8);
        if ((same & m) == m) {
            const uint32_t v = ELEMENT(element_u32, word + k);
            _mm512_mask_store_epi32(d + 16 * h, m, _mm512_set1_epi32((int)v));
            continue;
        }
        const __m512i ks = _mm512_set1_epi64((long long)k);
        const __m256i z = _mm256_setzero_si256();
        const __m256i g0 = _mm512_mask_i64gather_epi32(z, (__mmask8)m, _mm512_add_epi64(a0, ks),
                                                       (const void *)0, 1);
        const __m256i g1 = _mm512_mask_i64gather_epi32(
            z, (__mmask8)(m >> 8), _mm512_add_epi64(a1, ks), (const void *)0, 1);
        _mm512_mask_store_epi32(d + 16 * h, m,
                                _mm512_inserti64x4(_mm512_castsi256_si512(g0), g1, 1));
    }
}

ELEMENT_CLIENT static inline void element_load64(uint64_t *d, const uint64_t *at, uint64_t k,
                                                 uint32_t mask) {
    for (unsigned q = 0; q < 4; q++) {
        const __mmask8 m = (__mmask8)(mask >> 8 * q);
        if (!m) continue;
        const unsigned first = (unsigned)__builtin_ctz(m);
        const uint64_t word = at[8 * q + first], base = word - 8 * first;
        const __m512i a = _mm512_load_si512(at + 8 * q);
        const __m512i row = _mm512_add_epi64(_mm512_set1_epi64((long long)base), element_steps(8));
        __m512i v;
        if ((_mm512_cmpeq_epi64_mask(a, row) & m) == m)
            v = _mm512_maskz_loadu_epi64(m, (const void *)(uintptr_t)(base + k));
        else
            v = _mm512_mask_i64gather_epi64(_mm512_setzero_si512(), m,
                                            _mm512_add_epi64(a, _mm512_set1_epi64((long long)k)),
                                            (const void *)0, 1);
        _mm512_mask_store_epi64(d + 8 * q, m, v);
    }
}

ELEMENT_CLIENT static inline void element_store32(const uint32_t *s, const uint64_t *at, uint64_t k,
                                                  uint32_t mask) {
    for (unsigned h = 0; h < 2; h++) {
        const __mmask16 m = (__mmask16)(mask >> 16 * h);
        if (!m) continue;
        const unsigned first = (unsigned)__builtin_ctz(m);
        const uint64_t base = at[16 * h + first] - 4 * first;
        const __m512i a0 = _mm512_load_si512(at + 16 * h), a1 = _mm512_load_si512(at + 16 * h + 8);
        const __m512i row = _mm512_add_epi64(_mm512_set1_epi64((long long)base), element_steps(4));
        const __mmask8 eq0 = _mm512_cmpeq_epi64_mask(a0, row);
        const __mmask8 eq1 =
            _mm512_cmpeq_epi64_mask(a1, _mm512_add_epi64(row, _mm512_set1_epi64(32)));
        const __mmask16 eq = (__mmask16)(eq0 | eq1 << 8);
        const __m512i v = _mm512_load_si512(s + 16 * h);
        if ((eq & m) == m) {
            _mm512_mask_storeu_epi32((void *)(uintptr_t)(base + k), m, v);
            continue;
        }
        const __m512i ks = _mm512_set1_epi64((long long)k);
        _mm512_mask_i64scatter_epi32((void *)0, (__mmask8)m, _mm512_add_epi64(a0, ks),
                                     _mm512_castsi512_si256(v), 1);
        _mm512_mask_i64scatter_epi32((void *)0, (__mmask8)(m >> 8), _mm512_add_epi64(a1, ks),
                                     _mm512_extracti64x4_epi64(v, 1), 1);
    }
}

ELEMENT_CLIENT static inline void element_store64(const uint64_t *s, const uint64_t *at, uint64_t k,
                                                  uint32_t mask) {
    for (unsigned q = 0; q < 4; q++) {
        const __mmask8 m = (__mmask8)(mask >> 8 * q);
        if (!m) continue;
        const unsigned first = (unsigned)__builtin_ctz(m);
        const uint64_t base = at[8 * q + first] - 8 * first;
        const __m512i a = _mm512_load_si512(at + 8 * q), v = _mm512_load_si512(s + 8 * q);
        const __m512i row = _mm512_add_epi64(_mm512_set1_epi64((long long)base), element_steps(8));
        if ((_mm512_cmpeq_epi64_mask(a, row) & m) == m)
            _mm512_mask_storeu_epi64((void *)(uintptr_t)(base + k), m, v);
        else
            _mm512_mask_i64scatter_epi64(
                (void *)0, m, _mm512_add_epi64(a, _mm512_set1_epi64((long long)k)), v, 1);
    }
}

#else

/* True if all lanes are active and access neighbouring elements. */
static inline bool element_row(const uint64_t *at, uint64_t bytes, uint32_t mask) {
    uint64_t off = mask ^ ISA_FULL;
    for (unsigned l = 0; l < WARP_LANES; l++)
        off |= at[l] ^ (at[0] + l * bytes);
    return !off;
}

ELEMENT_CLIENT static inline void element_load32(uint32_t *d, const uint64_t *at, uint64_t k,
                                                 uint32_t mask) {
    if (element_row(at, 4, mask))
        element_row_copy(d, (const void *)(uintptr_t)(at[0] + k), 4 * WARP_LANES);
    else
        ELEMENT_LOOP(mask, d[l] = ELEMENT(element_u32, at[l] + k);)
}

ELEMENT_CLIENT static inline void element_load64(uint64_t *d, const uint64_t *at, uint64_t k,
                                                 uint32_t mask) {
    if (element_row(at, 8, mask))
        element_row_copy(d, (const void *)(uintptr_t)(at[0] + k), 8 * WARP_LANES);
    else
        ELEMENT_LOOP(mask, d[l] = ELEMENT(element_u64, at[l] + k);)
}

ELEMENT_CLIENT static inline void element_store32(const uint32_t *s, const uint64_t *at, uint64_t k,
                                                  uint32_t mask) {
    if (element_row(at, 4, mask))
        element_row_copy((void *)(uintptr_t)(at[0] + k), s, 4 * WARP_LANES);
    else
        ELEMENT_LOOP(mask, ELEMENT(element_u32, at[l] + k) = s[l];)
}

ELEMENT_CLIENT static inline void element_store64(const uint64_t *s, const uint64_t *at, uint64_t k,
                                                  uint32_t mask) {
    if (element_row(at, 8, mask))
        element_row_copy((void *)(uintptr_t)(at[0] + k), s, 8 * WARP_LANES);
    else
        ELEMENT_LOOP(mask, ELEMENT(element_u64, at[l] + k) = s[l];)
}

#endif

/* Loads one element of any width into a register at least as wide, extended by the sign of its
 * type. */
#define ELEMENT_WIDEN(type, reg)                                  \
    do {                                                          \
        reg *r = (reg *)d;                                        \
        ELEMENT_LOOP(mask, r[l] = (reg)ELEMENT(type, at[l] + k);) \
    } while (0)
#define ELEMENT_WIDEN_ANY(type, bytes)     \
    do {                                   \
        if ((bytes) == 2)                  \
            ELEMENT_WIDEN(type, uint16_t); \
        else if ((bytes) == 4)             \
            ELEMENT_WIDEN(type, uint32_t); \
        else                               \
            ELEMENT_WIDEN(type, uint64_t); \
    } while (0)

ELEMENT_CLIENT static inline void element_load(const struct code_inst *i, void *d, uint32_t bytes,
                                               const uint64_t *at, uint64_t k, uint32_t mask) {
    const bool sign = i->type == PTX_S8 || i->type == PTX_S16 || i->type == PTX_S32;
    switch (ptx_type_bytes(i->type)) {
    case 1:
        if (sign)
            ELEMENT_WIDEN_ANY(element_s8, bytes);
        else
            ELEMENT_WIDEN_ANY(element_u8, bytes);
        break;
    case 2:
        if (sign)
            ELEMENT_WIDEN_ANY(element_s16, bytes);
        else
            ELEMENT_WIDEN_ANY(element_u16, bytes);
        break;
    case 4:
        if (bytes == 4)
            element_load32(d, at, k, mask);
        else if (sign)
            ELEMENT_WIDEN(element_s32, uint64_t);
        else
            ELEMENT_WIDEN(element_u32, uint64_t);
        break;
    default: element_load64(d, at, k, mask); break;
    }
}

#define ELEMENT_NARROW(type, reg)                                  \
    do {                                                           \
        const reg *r = (const reg *)s;                             \
        ELEMENT_LOOP(mask, ELEMENT(type, at[l] + k) = (type)r[l];) \
    } while (0)
#define ELEMENT_NARROW_ANY(type, bytes)     \
    do {                                    \
        if ((bytes) == 2)                   \
            ELEMENT_NARROW(type, uint16_t); \
        else if ((bytes) == 4)              \
            ELEMENT_NARROW(type, uint32_t); \
        else                                \
            ELEMENT_NARROW(type, uint64_t); \
    } while (0)

ELEMENT_CLIENT static inline void element_store(const struct code_inst *i, const void *s,
                                                uint32_t bytes, const uint64_t *at, uint64_t k,
                                                uint32_t mask) {
    switch (ptx_type_bytes(i->type)) {
    case 1: ELEMENT_NARROW_ANY(element_u8, bytes); break;
    case 2: ELEMENT_NARROW_ANY(element_u16, bytes); break;
    case 4:
        if (bytes == 4)
            element_store32(s, at, k, mask);
        else
            ELEMENT_NARROW(element_u32, uint64_t);
        break;
    default: element_store64(s, at, k, mask); break;
    }
}

#endif
