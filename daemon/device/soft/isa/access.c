/* SPDX-License-Identifier: Apache-2.0
 *
 * ld and st. An access is two steps: the addresses of all lanes are computed and checked together
 * (against the window hit last, or the block's shared memory), then the values move. Lanes that
 * touch neighbouring words, or all the same word, are recognised and move as vectors; the rest is
 * gathered. With AVX-512 both steps stay in registers.
 */
#include "daemon/device/soft/isa/access.h"

#include <string.h>

#include "daemon/device/soft/isa/isa.h"
#include "daemon/device/soft/sectors.h"
#include "daemon/device/soft/warp.h"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
#define ACCESS_AVX512 1
#include <immintrin.h>
#endif

/* Client memory has no type of ours. */
typedef uint8_t __attribute__((may_alias)) access_u8;
typedef int8_t __attribute__((may_alias)) access_s8;
typedef uint16_t __attribute__((may_alias)) access_u16;
typedef int16_t __attribute__((may_alias)) access_s16;
typedef uint32_t __attribute__((may_alias)) access_u32;
typedef int32_t __attribute__((may_alias)) access_s32;
typedef uint64_t __attribute__((may_alias)) access_u64;

#define ACCESS_CTX(w) ((struct warp_ctx *)(w))

/* What a kernel's threads do to memory at once is the kernel's affair, and its ways to order it are
 * instructions that ThreadSanitizer does not know. */
#define ACCESS_CLIENT __attribute__((no_sanitize("thread")))

/* ---- values, given checked addresses -----------------------------------------------------------
 */

#define ACCESS_LOOP(mask, ...)                             \
    for (uint32_t left = (mask); left; left &= left - 1) { \
        const unsigned l = (unsigned)__builtin_ctz(left);  \
        __VA_ARGS__                                        \
    }

#ifdef ACCESS_AVX512

static inline __m512i access_steps(int stride) {
    const __m512i iota = _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0);
    return _mm512_mullo_epi64(iota, _mm512_set1_epi64(stride));
}

ACCESS_CLIENT static inline void access_load32(uint32_t *d, const uint64_t *at, uint64_t k,
                                               uint32_t mask) {
    for (unsigned h = 0; h < 2; h++) {
        const __mmask16 m = (__mmask16)(mask >> 16 * h);
        if (!m) continue;
        const unsigned first = (unsigned)__builtin_ctz(m);
        const uint64_t word = at[16 * h + first], base = word - 4 * first;
        const __m512i a0 = _mm512_load_si512(at + 16 * h), a1 = _mm512_load_si512(at + 16 * h + 8);
        const __m512i row = _mm512_add_epi64(_mm512_set1_epi64((long long)base), access_steps(4));
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
            const uint32_t v = *(const access_u32 *)(uintptr_t)(word + k);
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

ACCESS_CLIENT static inline void access_load64(uint64_t *d, const uint64_t *at, uint64_t k,
                                               uint32_t mask) {
    for (unsigned q = 0; q < 4; q++) {
        const __mmask8 m = (__mmask8)(mask >> 8 * q);
        if (!m) continue;
        const unsigned first = (unsigned)__builtin_ctz(m);
        const uint64_t word = at[8 * q + first], base = word - 8 * first;
        const __m512i a = _mm512_load_si512(at + 8 * q);
        const __m512i row = _mm512_add_epi64(_mm512_set1_epi64((long long)base), access_steps(8));
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

ACCESS_CLIENT static inline void access_store32(const uint32_t *s, const uint64_t *at, uint64_t k,
                                                uint32_t mask) {
    for (unsigned h = 0; h < 2; h++) {
        const __mmask16 m = (__mmask16)(mask >> 16 * h);
        if (!m) continue;
        const unsigned first = (unsigned)__builtin_ctz(m);
        const uint64_t base = at[16 * h + first] - 4 * first;
        const __m512i a0 = _mm512_load_si512(at + 16 * h), a1 = _mm512_load_si512(at + 16 * h + 8);
        const __m512i row = _mm512_add_epi64(_mm512_set1_epi64((long long)base), access_steps(4));
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

ACCESS_CLIENT static inline void access_store64(const uint64_t *s, const uint64_t *at, uint64_t k,
                                                uint32_t mask) {
    for (unsigned q = 0; q < 4; q++) {
        const __mmask8 m = (__mmask8)(mask >> 8 * q);
        if (!m) continue;
        const unsigned first = (unsigned)__builtin_ctz(m);
        const uint64_t base = at[8 * q + first] - 8 * first;
        const __m512i a = _mm512_load_si512(at + 8 * q), v = _mm512_load_si512(s + 8 * q);
        const __m512i row = _mm512_add_epi64(_mm512_set1_epi64((long long)base), access_steps(8));
        if ((_mm512_cmpeq_epi64_mask(a, row) & m) == m)
            _mm512_mask_storeu_epi64((void *)(uintptr_t)(base + k), m, v);
        else
            _mm512_mask_i64scatter_epi64(
                (void *)0, m, _mm512_add_epi64(a, _mm512_set1_epi64((long long)k)), v, 1);
    }
}

#else

/* All lanes at neighbouring words. */
static inline bool access_row(const uint64_t *at, uint64_t bytes, uint32_t mask) {
    uint64_t off = mask ^ ISA_FULL;
    for (unsigned l = 0; l < WARP_LANES; l++)
        off |= at[l] ^ (at[0] + l * bytes);
    return !off;
}

ACCESS_CLIENT static inline void access_load32(uint32_t *d, const uint64_t *at, uint64_t k,
                                               uint32_t mask) {
    if (access_row(at, 4, mask))
        memcpy(d, (const void *)(uintptr_t)(at[0] + k), 4 * WARP_LANES);
    else
        ACCESS_LOOP(mask, d[l] = *(const access_u32 *)(uintptr_t)(at[l] + k);)
}

ACCESS_CLIENT static inline void access_load64(uint64_t *d, const uint64_t *at, uint64_t k,
                                               uint32_t mask) {
    if (access_row(at, 8, mask))
        memcpy(d, (const void *)(uintptr_t)(at[0] + k), 8 * WARP_LANES);
    else
        ACCESS_LOOP(mask, d[l] = *(const access_u64 *)(uintptr_t)(at[l] + k);)
}

ACCESS_CLIENT static inline void access_store32(const uint32_t *s, const uint64_t *at, uint64_t k,
                                                uint32_t mask) {
    if (access_row(at, 4, mask))
        memcpy((void *)(uintptr_t)(at[0] + k), s, 4 * WARP_LANES);
    else
        ACCESS_LOOP(mask, *(access_u32 *)(uintptr_t)(at[l] + k) = s[l];)
}

ACCESS_CLIENT static inline void access_store64(const uint64_t *s, const uint64_t *at, uint64_t k,
                                                uint32_t mask) {
    if (access_row(at, 8, mask))
        memcpy((void *)(uintptr_t)(at[0] + k), s, 8 * WARP_LANES);
    else
        ACCESS_LOOP(mask, *(access_u64 *)(uintptr_t)(at[l] + k) = s[l];)
}

#endif

/* One element of any width into a register at least as wide, extended by the type's sign. */
#define ACCESS_WIDEN(type, reg)                                                              \
    do {                                                                                     \
        reg *r = (reg *)d;                                                                   \
        ACCESS_LOOP(mask, r[l] = (reg) * (const type *)(uintptr_t)(at[l] + k);) /* NOLINT */ \
    } while (0)
#define ACCESS_WIDEN_ANY(type, bytes)     \
    do {                                  \
        if ((bytes) == 2)                 \
            ACCESS_WIDEN(type, uint16_t); \
        else if ((bytes) == 4)            \
            ACCESS_WIDEN(type, uint32_t); \
        else                              \
            ACCESS_WIDEN(type, uint64_t); \
    } while (0)

ACCESS_CLIENT static void access_load_elem(const struct code_inst *i, void *d, uint32_t bytes,
                                           const uint64_t *at, uint64_t k, uint32_t mask) {
    const bool sign = i->type == PTX_S8 || i->type == PTX_S16 || i->type == PTX_S32;
    switch (ptx_type_bytes(i->type)) {
    case 1:
        if (sign)
            ACCESS_WIDEN_ANY(access_s8, bytes);
        else
            ACCESS_WIDEN_ANY(access_u8, bytes);
        break;
    case 2:
        if (sign)
            ACCESS_WIDEN_ANY(access_s16, bytes);
        else
            ACCESS_WIDEN_ANY(access_u16, bytes);
        break;
    case 4:
        if (bytes == 4)
            access_load32(d, at, k, mask);
        else if (sign)
            ACCESS_WIDEN(access_s32, uint64_t);
        else
            ACCESS_WIDEN(access_u32, uint64_t);
        break;
    default: access_load64(d, at, k, mask); break;
    }
}

#define ACCESS_NARROW(type, reg)                                         \
    do {                                                                 \
        const reg *r = (const reg *)s;                                   \
        ACCESS_LOOP(mask, *(type *)(uintptr_t)(at[l] + k) = (type)r[l];) \
    } while (0)
#define ACCESS_NARROW_ANY(type, bytes)     \
    do {                                   \
        if ((bytes) == 2)                  \
            ACCESS_NARROW(type, uint16_t); \
        else if ((bytes) == 4)             \
            ACCESS_NARROW(type, uint32_t); \
        else                               \
            ACCESS_NARROW(type, uint64_t); \
    } while (0)

ACCESS_CLIENT static void access_store_elem(const struct code_inst *i, const void *s,
                                            uint32_t bytes, const uint64_t *at, uint64_t k,
                                            uint32_t mask) {
    switch (ptx_type_bytes(i->type)) {
    case 1: ACCESS_NARROW_ANY(access_u8, bytes); break;
    case 2: ACCESS_NARROW_ANY(access_u16, bytes); break;
    case 4:
        if (bytes == 4)
            access_store32(s, at, k, mask);
        else
            ACCESS_NARROW(access_u32, uint64_t);
        break;
    default: access_store64(s, at, k, mask); break;
    }
}

/* ---- any space, any form ----------------------------------------------------------------------
 */

/* Of the lanes whose addresses were found to be good. */
static inline void access_count(struct warp_ctx *x, const uint64_t *at) {
    if (x->global) x->sectors += sectors_count(at, x->global);
}

ACCESS_CLIENT ISA_HANDLER(access_load) {
    struct warp_ctx *x = ACCESS_CTX(w);
    const struct code_extra *e = i->extra;
    const uint32_t size = ptx_type_bytes(i->type);
    uint64_t at[WARP_LANES] __attribute__((aligned(64)));
    if (!mem_resolve(x, i, mask, e ? size * e->def_count : size, false, at)) return;
    access_count(x, at);
    if (!e) {
        access_load_elem(i, SLOT(void, w, i->d), i->d_bytes, at, 0, mask);
        return;
    }
    for (uint32_t k = 0; k < e->def_count; k++)
        if (e->defs[k].slot != CODE_NO_SLOT)
            access_load_elem(i, SLOT(void, w, e->defs[k].slot), e->defs[k].bytes, at, k * size,
                             mask);
}

ACCESS_CLIENT ISA_HANDLER(access_store) {
    struct warp_ctx *x = ACCESS_CTX(w);
    const struct code_extra *e = i->extra;
    const uint32_t size = ptx_type_bytes(i->type);
    uint64_t at[WARP_LANES] __attribute__((aligned(64)));
    if (!mem_resolve(x, i, mask, e ? size * e->use_count : size, true, at)) return;
    access_count(x, at);
    if (!e) {
        access_store_elem(i, SLOT(void, w, i->b), i->d_bytes, at, 0, mask);
        return;
    }
    for (uint32_t k = 0; k < e->use_count; k++)
        access_store_elem(i, SLOT(void, w, e->uses[k].slot), e->uses[k].bytes, at, k * size, mask);
}

/* Loads that may be waiting for somebody: volatile, relaxed, acquire. */
ISA_HANDLER(access_load_waiting) {
    ACCESS_CTX(w)->spin = true;
    access_load(w, i, mask);
}

/* ---- the usual: one word a lane, generic address in a 64-bit register --------------------------
 */

#define ACCESS_HALF (WARP_LANES / 2)

/* Half a warp of lanes at equal steps from the first. */
static inline bool access_steps_are(const uint64_t *a, uint64_t step) {
#ifdef ACCESS_AVX512
    const __m512i row =
        _mm512_add_epi64(_mm512_set1_epi64((long long)a[0]), access_steps((int)step));
    const __m512i rest = _mm512_add_epi64(row, _mm512_set1_epi64((long long)(8 * step)));
    return !(_mm512_cmpneq_epi64_mask(_mm512_load_si512(a), row) |
             _mm512_cmpneq_epi64_mask(_mm512_load_si512(a + 8), rest));
#else
    uint64_t off = 0;
    for (unsigned l = 1; l < ACCESS_HALF; l++)
        off |= a[l] ^ (a[0] + l * step);
    return !off;
#endif
}

/* Both halves of a warp, each a row of words or one word, as blocks of 16 by 16 threads have them.
 */
struct access_halves {
    uint64_t first[2], last[2]; /* words */
};

/* Whether the addresses of all lanes are like that and lie in the window that this instruction hit
 * last, for which the ends are looked at alone. Counts them if so. */
static inline bool access_halves(struct warp_ctx *x, const struct code_inst *i, uint32_t bytes,
                                 struct access_halves *out) {
    const uint64_t *a = SLOT(const uint64_t, &x->w, i->a);
    const struct range *window = &x->windows[CODE_WINDOW(i)];
    const uint64_t lo = window->lo, size = window->hi - lo, row = (ACCESS_HALF - 1) * bytes;
    uint64_t bad = size < row + bytes;
    for (unsigned h = 0; h < 2; h++, a += ACCESS_HALF) {
        uint64_t extent = row;
        if (!access_steps_are(a, bytes)) {
            if (!access_steps_are(a, 0)) return false;
            extent = 0;
        }
        out->first[h] = a[0] + (uint64_t)i->offset;
        out->last[h] = out->first[h] + extent;
        bad |= (uint64_t)(out->first[h] - lo > size - bytes - extent);
        bad |= out->first[h] & (bytes - 1);
    }
    if (bad) return false;
    if (mem_counted(x, i, window)) x->sectors += sectors_runs(out->first, out->last);
    return true;
}

/* Addresses of all lanes, checked against the window that this instruction hit last. */
static inline bool access_generic(struct warp_ctx *x, const struct code_inst *i, uint32_t mask,
                                  uint32_t bytes, bool write, uint64_t *at) {
    const uint64_t *a = SLOT(const uint64_t, &x->w, i->a);
    const struct range *window = &x->windows[CODE_WINDOW(i)];
    const uint64_t lo = window->lo, room = window->hi - lo - bytes;
    bool ok = window->hi - lo >= bytes;
#ifdef ACCESS_AVX512
    const __m512i off = _mm512_set1_epi64(i->offset), los = _mm512_set1_epi64((long long)lo);
    const __m512i rooms = _mm512_set1_epi64((long long)room);
    const __m512i low = _mm512_set1_epi64(bytes - 1);
    uint32_t bad = 0;
    for (unsigned q = 0; q < 4; q++) {
        const __m512i v = _mm512_add_epi64(_mm512_load_si512(a + 8 * q), off);
        const __mmask8 out = _mm512_cmpgt_epu64_mask(_mm512_sub_epi64(v, los), rooms);
        bad |= (uint32_t)(out | _mm512_test_epi64_mask(v, low)) << 8 * q;
        _mm512_store_si512(at + 8 * q, v);
    }
    ok = ok && !(bad & mask);
#else
    uint64_t bad = 0;
    const uint64_t off = (uint64_t)i->offset;
    if (mask == ISA_FULL) {
        for (unsigned l = 0; l < WARP_LANES; l++) {
            at[l] = a[l] + off;
            bad |= (uint64_t)(at[l] - lo > room) | (at[l] & (bytes - 1));
        }
    } else {
        for (unsigned l = 0; l < WARP_LANES; l++) {
            at[l] = a[l] + off;
            bad |= ((uint64_t)(at[l] - lo > room) | (at[l] & (bytes - 1))) &
                   (0 - (uint64_t)(mask >> l & 1));
        }
    }
    ok = ok && !bad;
#endif
    x->global = mem_counted(x, i, window) ? mask : 0;
    if (!ok && !mem_check(x, i, mask, at, bytes, write)) return false;
    access_count(x, at);
    return true;
}

/* A load of one `type` a lane into a `reg`, by halves or by what the rest says. */
#define ACCESS_LOAD(name, type, reg, rest)                                               \
    ACCESS_CLIENT __attribute__((noinline)) static void access_load_any_##name(          \
        struct warp *w, const struct code_inst *i, uint32_t mask) {                      \
        uint64_t at[WARP_LANES] __attribute__((aligned(64)));                            \
        reg *d = SLOT(reg, w, i->d);                                                     \
        if (access_generic(ACCESS_CTX(w), i, mask, sizeof(type), false, at)) rest;       \
    }                                                                                    \
    ACCESS_CLIENT ISA_HANDLER(access_load_##name) {                                      \
        struct access_halves half;                                                       \
        if (mask != ISA_FULL || !access_halves(ACCESS_CTX(w), i, sizeof(type), &half)) { \
            access_load_any_##name(w, i, mask);                                          \
            return;                                                                      \
        }                                                                                \
        reg *d = SLOT(reg, w, i->d);                                                     \
        for (unsigned h = 0; h < 2; h++, d += ACCESS_HALF) {                             \
            const type *from = (const type *)(uintptr_t)half.first[h], one = *from;      \
            type row[ACCESS_HALF];                                                       \
            if (half.first[h] == half.last[h])                                           \
                for (unsigned l = 0; l < ACCESS_HALF; l++)                               \
                    d[l] = (reg)one;                                                     \
            else if (sizeof(type) == sizeof(reg))                                        \
                memcpy(d, from, sizeof row);                                             \
            else {                                                                       \
                memcpy(row, from, sizeof row);                                           \
                for (unsigned l = 0; l < ACCESS_HALF; l++)                               \
                    d[l] = (reg)row[l];                                                  \
            }                                                                            \
        }                                                                                \
    }
ACCESS_LOAD(generic32, access_u32, uint32_t, access_load32(d, at, 0, mask))
ACCESS_LOAD(generic64, access_u64, uint64_t, access_load64(d, at, 0, mask))
#define ACCESS_SMALL(name, type, reg) \
    ACCESS_LOAD(name, type, reg, ACCESS_LOOP(mask, d[l] = (reg) * (const type *)(uintptr_t)at[l];))
ACCESS_SMALL(u8_16, access_u8, uint16_t)
ACCESS_SMALL(u8_32, access_u8, uint32_t)
ACCESS_SMALL(s8_16, access_s8, uint16_t)
ACCESS_SMALL(s8_32, access_s8, uint32_t)
ACCESS_SMALL(u16_16, access_u16, uint16_t)
ACCESS_SMALL(u16_32, access_u16, uint32_t)

#define ACCESS_STORE(bits)                                                           \
    ACCESS_CLIENT __attribute__((noinline)) static void access_store_any##bits(      \
        struct warp *w, const struct code_inst *i, uint32_t mask) {                  \
        uint64_t at[WARP_LANES] __attribute__((aligned(64)));                        \
        if (access_generic(ACCESS_CTX(w), i, mask, bits / 8, true, at))              \
            access_store##bits(SLOT(const uint##bits##_t, w, i->b), at, 0, mask);    \
    }                                                                                \
    ACCESS_CLIENT ISA_HANDLER(access_store_generic##bits) {                          \
        struct access_halves half;                                                   \
        if (mask != ISA_FULL || !access_halves(ACCESS_CTX(w), i, bits / 8, &half)) { \
            access_store_any##bits(w, i, mask);                                      \
            return;                                                                  \
        }                                                                            \
        const uint##bits##_t *s = SLOT(const uint##bits##_t, w, i->b);               \
        for (unsigned h = 0; h < 2; h++, s += ACCESS_HALF) {                         \
            access_u##bits *to = (access_u##bits *)(uintptr_t)half.first[h];         \
            if (half.first[h] != half.last[h])                                       \
                memcpy(to, s, ACCESS_HALF * sizeof *s);                              \
            else                                                                     \
                *to = s[ACCESS_HALF - 1]; /* the last lane's stays */                \
        }                                                                            \
    }
ACCESS_STORE(32)
ACCESS_STORE(64)

/* ---- shared memory through a 32-bit register ---------------------------------------------------
 */

#ifdef ACCESS_AVX512

/* Offsets of 16 lanes; false when one of `m` is outside or misaligned. */
static inline bool access_offsets(const struct warp_ctx *x, const struct code_inst *i, unsigned h,
                                  __mmask16 m, uint32_t bytes, __m512i *out) {
    const uint32_t *a = SLOT(const uint32_t, &x->w, i->a);
    const __m512i v =
        _mm512_add_epi32(_mm512_load_si512(a + 16 * h), _mm512_set1_epi32((int)i->offset));
    const __m512i room = _mm512_set1_epi32((int)(uint32_t)(x->shared_bytes - bytes));
    const __mmask16 bad = _mm512_cmpgt_epu32_mask(v, room) |
                          _mm512_test_epi32_mask(v, _mm512_set1_epi32((int)bytes - 1));
    *out = v;
    return !(bad & m);
}

static inline __mmask16 access_offsets_row(__m512i v, uint32_t base, __mmask16 m) {
    const __m512i iota =
        _mm512_set_epi32(60, 56, 52, 48, 44, 40, 36, 32, 28, 24, 20, 16, 12, 8, 4, 0);
    const __m512i row = _mm512_add_epi32(_mm512_set1_epi32((int)base), iota);
    return _mm512_cmpeq_epi32_mask(v, row) & m;
}

/* All offsets first: an instruction may load into its own address register. */
static inline bool access_shared(const struct warp_ctx *x, const struct code_inst *i, uint32_t mask,
                                 __m512i v[2]) {
    return x->shared_bytes >= 4 && access_offsets(x, i, 0, (__mmask16)mask, 4, &v[0]) &&
           access_offsets(x, i, 1, (__mmask16)(mask >> 16), 4, &v[1]);
}

ISA_HANDLER(access_load_shared32) {
    struct warp_ctx *x = ACCESS_CTX(w);
    uint32_t *d = SLOT(uint32_t, w, i->d);
    const uint32_t *a = SLOT(const uint32_t, w, i->a);
    const unsigned char *shared = (const unsigned char *)(uintptr_t)x->shared_base;
    __m512i v[2];
    if (!access_shared(x, i, mask, v)) {
        access_load(w, i, mask);
        return;
    }
    for (unsigned h = 0; h < 2; h++) {
        const __mmask16 m = (__mmask16)(mask >> 16 * h);
        if (!m) continue;
        const unsigned first = (unsigned)__builtin_ctz(m);
        const uint32_t word = a[16 * h + first] + (uint32_t)i->offset;
        __m512i r;
        if ((_mm512_cmpeq_epi32_mask(v[h], _mm512_set1_epi32((int)word)) & m) == m)
            r = _mm512_set1_epi32((int)*(const access_u32 *)(shared + word));
        else if (access_offsets_row(v[h], word - 4 * first, m) == m)
            r = _mm512_maskz_loadu_epi32(m, shared + (int64_t)word - 4 * (int64_t)first);
        else
            r = _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), m, v[h], shared, 1);
        _mm512_mask_store_epi32(d + 16 * h, m, r);
    }
}

ISA_HANDLER(access_store_shared32) {
    struct warp_ctx *x = ACCESS_CTX(w);
    const uint32_t *s = SLOT(const uint32_t, w, i->b), *a = SLOT(const uint32_t, w, i->a);
    unsigned char *shared = (unsigned char *)(uintptr_t)x->shared_base;
    __m512i v[2];
    if (!access_shared(x, i, mask, v)) {
        access_store(w, i, mask);
        return;
    }
    for (unsigned h = 0; h < 2; h++) {
        const __mmask16 m = (__mmask16)(mask >> 16 * h);
        if (!m) continue;
        const unsigned first = (unsigned)__builtin_ctz(m);
        const uint32_t word = a[16 * h + first] + (uint32_t)i->offset;
        const __m512i value = _mm512_load_si512(s + 16 * h);
        if (access_offsets_row(v[h], word - 4 * first, m) == m)
            _mm512_mask_storeu_epi32(shared + (int64_t)word - 4 * (int64_t)first, m, value);
        else
            _mm512_mask_i32scatter_epi32(shared, m, v[h], value, 1);
    }
}

#else

static inline bool access_shared(struct warp_ctx *x, const struct code_inst *i, uint32_t mask,
                                 uint32_t bytes, uint64_t *at) {
    const uint32_t *a = SLOT(const uint32_t, &x->w, i->a);
    const uint32_t off = (uint32_t)i->offset, room = (uint32_t)x->shared_bytes - bytes;
    uint32_t bad = 0;
    for (unsigned l = 0; l < WARP_LANES; l++) {
        const uint32_t o = a[l] + off;
        bad |= ((uint32_t)(o > room) | (o & (bytes - 1))) & (0 - (mask >> l & 1));
        at[l] = x->shared_base + o;
    }
    return x->shared_bytes >= bytes && !bad;
}

ISA_HANDLER(access_load_shared32) {
    uint64_t at[WARP_LANES] __attribute__((aligned(64)));
    if (access_shared(ACCESS_CTX(w), i, mask, 4, at))
        access_load32(SLOT(uint32_t, w, i->d), at, 0, mask);
    else
        access_load(w, i, mask);
}

ISA_HANDLER(access_store_shared32) {
    uint64_t at[WARP_LANES] __attribute__((aligned(64)));
    if (access_shared(ACCESS_CTX(w), i, mask, 4, at))
        access_store32(SLOT(const uint32_t, w, i->b), at, 0, mask);
    else
        access_store(w, i, mask);
}

#endif

/* ---- a kernel's parameter: the same bytes for all lanes ----------------------------------------
 */

#define ACCESS_PARAM(bits)                                                                       \
    ISA_HANDLER(access_load_param##bits) {                                                       \
        uint##bits##_t *d = SLOT(uint##bits##_t, w, i->d), one;                                  \
        /* The decoder knows that the offset is good. */                                         \
        memcpy(&one, (const void *)(uintptr_t)(ACCESS_CTX(w)->param_base + (uint64_t)i->offset), \
               sizeof one);                                                                      \
        ISA_LANES(mask, uint##bits##_t, d, v = one;);                                            \
    }
ACCESS_PARAM(32)
ACCESS_PARAM(64)

/* ---- choice ------------------------------------------------------------------------------------
 */

static bool access_waits(const struct code_inst *i) {
    return i->src && (strstr(i->src->text, ".volatile") || strstr(i->src->text, ".acquire") ||
                      strstr(i->src->text, ".relaxed"));
}

static code_handler *access_small(const struct code_inst *i) {
    const bool sign = ptx_type_class(i->type) == 's';
    if (i->d_bytes == 8 || (sign && i->d_bytes == 4 && ptx_type_bytes(i->type) == 2)) return NULL;
    if (ptx_type_bytes(i->type) == 2)
        return i->d_bytes == 2 ? access_load_u16_16 : access_load_u16_32;
    if (sign) return i->d_bytes == 2 ? access_load_s8_16 : access_load_s8_32;
    return i->d_bytes == 2 ? access_load_u8_16 : access_load_u8_32;
}

static code_handler *access_quick(const struct code_inst *i, bool load) {
    const uint32_t size = ptx_type_bytes(i->type);
    if (load && i->space == PTX_PARAM && i->a == CODE_NO_SLOT && !i->extra && i->d_bytes == size) {
        if (size == 4) return access_load_param32;
        if (size == 8) return access_load_param64;
    }
    if (load && i->space == PTX_GENERIC && i->a_bytes == 8 && i->a >= 0 && !i->extra && size < 4)
        return access_small(i);
    if (i->extra || i->a < 0 || i->d_bytes != size || (size != 4 && size != 8)) return NULL;
    if (i->space == PTX_GENERIC && i->a_bytes == 8) {
        if (size == 4) return load ? access_load_generic32 : access_store_generic32;
        return load ? access_load_generic64 : access_store_generic64;
    }
    if (i->space == PTX_SHARED && i->a_bytes == 4 && size == 4)
        return load ? access_load_shared32 : access_store_shared32;
    return NULL;
}

ISA_FAMILY(access_select) {
    const bool load = i->op != PTX_OP_st;
    if (load && access_waits(i)) return access_load_waiting;
    code_handler *quick = access_quick(i, load);
    return quick ? quick : load ? access_load : access_store;
}
