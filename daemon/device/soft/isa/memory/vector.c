/* SPDX-License-Identifier: Apache-2.0
 *
 * ld and st of vectors. PTX promises atomicity for each element only. But hardware moves up to 16
 * aligned bytes of a lane at once, and programs rely on it: CUB's scans pass a flag and a value to
 * the next block as one vector. Here too every 16 bytes of a lane are one move, and so is all of a
 * shorter vector; 32 bytes are two, as on hardware. This holds in every space and whatever other
 * lanes do.
 *
 * Up to 8 bytes the move is a `mov`. For 16 bytes Intel's and AMD's manuals promise atomicity of an
 * aligned MOVDQA on processors with AVX; the promise depends on the processor, not on the encoding,
 * so it holds in every build. The few x86-64 processors without AVX promise it for more than 8
 * bytes only by CMPXCHG16B. That costs about twenty times as much and writes even where a kernel
 * only reads, so that it would fault in read-only pages; they get MOVDQA too. See
 * docs/adr/0009-what-ptx-leaves-open.md.
 *
 * The usual shapes go through the registers of four or two lanes at a time, transposed. The others
 * (narrow elements, registers wider than the type) go through a copy.
 */
#include <emmintrin.h>

#include "daemon/device/soft/instructions/ptx_tables.h"
#include "daemon/device/soft/isa/memory/element.h"
#include "daemon/device/soft/isa/memory/resolve.h"

#define VECTOR_MOST 32 /* bytes of a lane, at most */
#define VECTOR_PIECE 16

/* ---- one lane's piece --------------------------------------------------------------------------
 */

#ifdef __AVX__
#define VECTOR_MOVE "vmovdqa"
#else
#define VECTOR_MOVE "movdqa"
#endif

typedef long long vector_16 __attribute__((vector_size(16), may_alias));

ELEMENT_CLIENT static inline __m128i read16(uint64_t at) {
    vector_16 v;
    __asm__ volatile(VECTOR_MOVE " %1, %0" : "=x"(v) : "m"(*(const vector_16 *)(uintptr_t)at));
    return (__m128i)v;
}

ELEMENT_CLIENT static inline void write16(uint64_t at, __m128i v) {
    __asm__ volatile(VECTOR_MOVE " %1, %0" : "=m"(*(vector_16 *)(uintptr_t)at) : "x"((vector_16)v));
}

ELEMENT_CLIENT static inline __m128i read8(uint64_t at) {
    return _mm_cvtsi64_si128((long long)ELEMENT(element_u64, at));
}

ELEMENT_CLIENT static inline void write8(uint64_t at, __m128i v) {
    ELEMENT(element_u64, at) = (uint64_t)_mm_cvtsi128_si64(v);
}

/* ---- the usual shapes: columns are registers' lanes, rows are a lane's vector ------------------
 */

/* Expands the bits of four lanes into a mask of 32-bit elements. For 64-bit elements the caller
 * passes each bit of two lanes twice. */
static inline __m128i lane_mask(uint32_t bits) {
    const __m128i each = _mm_set_epi32(8, 4, 2, 1);
    return _mm_cmpeq_epi32(_mm_and_si128(_mm_set1_epi32((int)bits), each), each);
}

/* Stores a column into its register, only for the lanes of `bits`. */
static inline void keep_column(void *reg, __m128i column, uint32_t bits) {
    if (bits != 15) {
        const __m128i lanes = lane_mask(bits), old = _mm_load_si128(reg);
        column = _mm_or_si128(_mm_and_si128(lanes, column), _mm_andnot_si128(lanes, old));
    }
    _mm_store_si128(reg, column);
}

/* Transposes four rows of four words into columns, or the reverse. */
static inline void transpose(__m128i v[4]) {
    const __m128i a = _mm_unpacklo_epi32(v[0], v[1]), b = _mm_unpackhi_epi32(v[0], v[1]);
    const __m128i c = _mm_unpacklo_epi32(v[2], v[3]), d = _mm_unpackhi_epi32(v[2], v[3]);
    v[0] = _mm_unpacklo_epi64(a, c);
    v[1] = _mm_unpackhi_epi64(a, c);
    v[2] = _mm_unpacklo_epi64(b, d);
    v[3] = _mm_unpackhi_epi64(b, d);
}

/* Loads four elements of 32 bits. Lanes that take no part have an address that may be read. */
ELEMENT_CLIENT static void load_4x32(void *const d[4], const uint64_t *at, uint64_t off,
                                     uint32_t mask) {
    for (unsigned l = 0; l < WARP_LANES; l += 4) {
        const uint32_t bits = mask >> l & 15;
        __m128i v[4];
        if (!bits) continue;
        for (unsigned k = 0; k < 4; k++)
            v[k] = read16(at[l + k] + off);
        transpose(v);
        for (unsigned k = 0; k < 4; k++)
            keep_column((uint32_t *)d[k] + l, v[k], bits);
    }
}

ELEMENT_CLIENT static void store_4x32(void *const s[4], const uint64_t *at, uint64_t off,
                                      uint32_t mask) {
    for (unsigned l = 0; l < WARP_LANES; l += 4) {
        const uint32_t bits = mask >> l & 15;
        __m128i v[4];
        if (!bits) continue;
        for (unsigned k = 0; k < 4; k++)
            v[k] = _mm_load_si128((const __m128i *)((const uint32_t *)s[k] + l));
        transpose(v);
        for (unsigned k = 0; k < 4; k++)
            if (bits >> k & 1) write16(at[l + k] + off, v[k]);
    }
}

/* Loads two elements of 64 bits. */
ELEMENT_CLIENT static void load_2x64(void *const d[2], const uint64_t *at, uint64_t off,
                                     uint32_t mask) {
    for (unsigned l = 0; l < WARP_LANES; l += 2) {
        const uint32_t bits = (mask >> l & 1) * 3 | (mask >> (l + 1) & 1) * 12;
        if (!bits) continue;
        const __m128i a = read16(at[l] + off), b = read16(at[l + 1] + off);
        keep_column((uint64_t *)d[0] + l, _mm_unpacklo_epi64(a, b), bits);
        keep_column((uint64_t *)d[1] + l, _mm_unpackhi_epi64(a, b), bits);
    }
}

ELEMENT_CLIENT static void store_2x64(void *const s[2], const uint64_t *at, uint64_t off,
                                      uint32_t mask) {
    for (unsigned l = 0; l < WARP_LANES; l += 2) {
        const __m128i a = _mm_load_si128((const __m128i *)((const uint64_t *)s[0] + l));
        const __m128i b = _mm_load_si128((const __m128i *)((const uint64_t *)s[1] + l));
        if (mask >> l & 1) write16(at[l] + off, _mm_unpacklo_epi64(a, b));
        if (mask >> (l + 1) & 1) write16(at[l + 1] + off, _mm_unpackhi_epi64(a, b));
    }
}

/* Loads two elements of 32 bits. */
ELEMENT_CLIENT static void load_2x32(void *const d[2], const uint64_t *at, uint32_t mask) {
    for (unsigned l = 0; l < WARP_LANES; l += 4) {
        const uint32_t bits = mask >> l & 15;
        if (!bits) continue;
        const __m128i a = _mm_unpacklo_epi32(read8(at[l]), read8(at[l + 1]));
        const __m128i b = _mm_unpacklo_epi32(read8(at[l + 2]), read8(at[l + 3]));
        keep_column((uint32_t *)d[0] + l, _mm_unpacklo_epi64(a, b), bits);
        keep_column((uint32_t *)d[1] + l, _mm_unpackhi_epi64(a, b), bits);
    }
}

ELEMENT_CLIENT static void store_2x32(void *const s[2], const uint64_t *at, uint32_t mask) {
    for (unsigned l = 0; l < WARP_LANES; l += 4) {
        const __m128i x = _mm_load_si128((const __m128i *)((const uint32_t *)s[0] + l));
        const __m128i y = _mm_load_si128((const __m128i *)((const uint32_t *)s[1] + l));
        const __m128i a = _mm_unpacklo_epi32(x, y), b = _mm_unpackhi_epi32(x, y);
        const __m128i rows[4] = {a, _mm_unpackhi_epi64(a, a), b, _mm_unpackhi_epi64(b, b)};
        for (unsigned k = 0; k < 4; k++)
            if (mask >> (l + k) & 1) write8(at[l + k], rows[k]);
    }
}

/* ---- whole rows: vectors of all lanes, side by side, or one for all
 * ------------------------------
 */

#ifdef ELEMENT_AVX512

/* Reads the 16-byte vectors of four lanes, or the 8-byte vectors of eight. The pieces of a row are
 * whole vectors (element.h). */
ELEMENT_CLIENT static inline __m512i read_row(uint64_t at) {
    return (__m512i) * (const element_wide *)(uintptr_t)at;
}
ELEMENT_CLIENT static inline void write_row(uint64_t at, __m512i v) {
    *(element_wide *)(uintptr_t)at = (element_wide)v;
}

/* Indices of every second word of two vectors, from the first on; and the indices that undo
 * this. */
#define ROW_EVEN _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0)
#define ROW_EVEN64 _mm512_set_epi64(14, 12, 10, 8, 6, 4, 2, 0)
#define ROW_MIXED _mm512_set_epi32(23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0)
#define ROW_MIXED64 _mm512_set_epi64(11, 3, 10, 2, 9, 1, 8, 0)
/* Indices of every fourth word from the first on, then from the second on. */
#define ROW_FOURTH _mm512_set_epi32(29, 25, 21, 17, 13, 9, 5, 1, 28, 24, 20, 16, 12, 8, 4, 0)
/* Indices that turn four columns, two in each vector, into rows. */
#define ROW_OF_FOUR _mm512_set_epi32(27, 19, 11, 3, 26, 18, 10, 2, 25, 17, 9, 1, 24, 16, 8, 0)
#define ROW_PICK(v, from, by, u) \
    _mm512_permutex2var_epi32(v, _mm512_add_epi32(from, _mm512_set1_epi32(by)), u)
#define ROW_PICK64(v, from, by, u) \
    _mm512_permutex2var_epi64(v, _mm512_add_epi64(from, _mm512_set1_epi64(by)), u)

static void load_row_2x32(void *const d[2], uint64_t at) {
    for (unsigned l = 0; l < WARP_LANES; l += 16, at += 128) {
        const __m512i v = read_row(at), u = read_row(at + 64);
        for (int k = 0; k < 2; k++)
            _mm512_store_si512((uint32_t *)d[k] + l, ROW_PICK(v, ROW_EVEN, k, u));
    }
}

static void store_row_2x32(void *const s[2], uint64_t at) {
    for (unsigned l = 0; l < WARP_LANES; l += 16, at += 128) {
        const __m512i x = _mm512_load_si512((const uint32_t *)s[0] + l);
        const __m512i y = _mm512_load_si512((const uint32_t *)s[1] + l);
        for (int k = 0; k < 2; k++)
            write_row(at + 64 * (unsigned)k, ROW_PICK(x, ROW_MIXED, 8 * k, y));
    }
}

static void load_row_2x64(void *const d[2], uint64_t at) {
    for (unsigned l = 0; l < WARP_LANES; l += 8, at += 128) {
        const __m512i v = read_row(at), u = read_row(at + 64);
        for (int k = 0; k < 2; k++)
            _mm512_store_si512((uint64_t *)d[k] + l, ROW_PICK64(v, ROW_EVEN64, k, u));
    }
}

static void store_row_2x64(void *const s[2], uint64_t at) {
    for (unsigned l = 0; l < WARP_LANES; l += 8, at += 128) {
        const __m512i x = _mm512_load_si512((const uint64_t *)s[0] + l);
        const __m512i y = _mm512_load_si512((const uint64_t *)s[1] + l);
        for (int k = 0; k < 2; k++)
            write_row(at + 64 * (unsigned)k, ROW_PICK64(x, ROW_MIXED64, 4 * k, y));
    }
}

static void load_row_4x32(void *const d[4], uint64_t at) {
    for (unsigned l = 0; l < WARP_LANES; l += 16, at += 256) {
        const __m512i v = read_row(at), u = read_row(at + 64);
        const __m512i x = read_row(at + 128), y = read_row(at + 192);
        for (int k = 0; k < 4; k += 2) {
            const __m512i low = ROW_PICK(v, ROW_FOURTH, k, u), high = ROW_PICK(x, ROW_FOURTH, k, y);
            _mm512_store_si512((uint32_t *)d[k] + l, _mm512_shuffle_i64x2(low, high, 0x44));
            _mm512_store_si512((uint32_t *)d[k + 1] + l, _mm512_shuffle_i64x2(low, high, 0xee));
        }
    }
}

static void store_row_4x32(void *const s[4], uint64_t at) {
    for (unsigned l = 0; l < WARP_LANES; l += 8, at += 128) {
        __m512i v[2]; /* two columns of eight lanes each */
        for (unsigned k = 0; k < 2; k++) {
            const __m256i *x = (const __m256i *)((const uint32_t *)s[2 * k] + l);
            const __m256i *y = (const __m256i *)((const uint32_t *)s[2 * k + 1] + l);
            v[k] = _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_load_si256(x)),
                                      _mm256_load_si256(y), 1);
        }
        for (int k = 0; k < 2; k++)
            write_row(at + 64 * (unsigned)k, ROW_PICK(v[0], ROW_OF_FOUR, 4 * k, v[1]));
    }
}

/* Loads one vector for all lanes. */
ELEMENT_CLIENT static void load_one(void *const *d, uint64_t at, uint32_t n, uint32_t size) {
    const __m128i v = size * n == 8 ? read8(at) : read16(at);
    for (uint32_t k = 0; k < n; k++) {
        const __m512i word =
            size == 4
                ? _mm512_permutexvar_epi32(_mm512_set1_epi32((int)k), _mm512_castsi128_si512(v))
                : _mm512_permutexvar_epi64(_mm512_set1_epi64(k), _mm512_castsi128_si512(v));
        for (unsigned l = 0; l < WARP_LANES * size; l += 64)
            _mm512_store_si512((unsigned char *)d[k] + l, word);
    }
}

static bool load_row(struct warp_ctx *x, const struct code_inst *i, void *const *d, uint32_t n,
                     uint32_t size) {
    struct resolve_row row;
    if (size * n > VECTOR_PIECE || !resolve_row(x, i, size * n, false, &row)) return false;
    if (!row.step)
        load_one(d, row.first, n, size);
    else if (size * n == 8)
        load_row_2x32(d, row.first);
    else
        (size == 4 ? load_row_4x32 : load_row_2x64)(d, row.first);
    return true;
}

static bool store_row(struct warp_ctx *x, const struct code_inst *i, void *const *s, uint32_t n,
                      uint32_t size) {
    struct resolve_row row;
    if (size * n > VECTOR_PIECE || !resolve_row(x, i, size * n, true, &row)) return false;
    if (size * n == 8)
        store_row_2x32(s, row.first);
    else
        (size == 4 ? store_row_4x32 : store_row_2x64)(s, row.first);
    return true;
}

#else

static bool load_row(struct warp_ctx *x, const struct code_inst *i, void *const *d, uint32_t n,
                     uint32_t size) {
    (void)x, (void)i, (void)d, (void)n, (void)size;
    return false;
}

static bool store_row(struct warp_ctx *x, const struct code_inst *i, void *const *s, uint32_t n,
                      uint32_t size) {
    (void)x, (void)i, (void)s, (void)n, (void)size;
    return false;
}

#endif

/* ---- any shape, through a copy ------------------------------------------------------------------
 */

struct vector_copy {
    unsigned char lanes[WARP_LANES * VECTOR_MOST];
} __attribute__((aligned(64)));

/* Copies `bytes` bytes; up to 16 of them move at once. */
ELEMENT_CLIENT static inline void move(uint64_t to, uint64_t from, uint32_t bytes) {
    switch (bytes) {
    case 2: ELEMENT(element_u16, to) = ELEMENT(element_u16, from); break;
    case 4: ELEMENT(element_u32, to) = ELEMENT(element_u32, from); break;
    case 8: ELEMENT(element_u64, to) = ELEMENT(element_u64, from); break;
    default:
        for (uint32_t k = 0; k < bytes; k += VECTOR_PIECE)
            write16(to + k, read16(from + k));
        break;
    }
}

/* Computes the address of each lane's part of the copy. */
static inline void copy_at(const void *copy, uint64_t *at) {
    for (unsigned l = 0; l < WARP_LANES; l++)
        at[l] = (uint64_t)(uintptr_t)copy + l * VECTOR_MOST;
}

ELEMENT_CLIENT static void load_any(struct warp *w, const struct code_inst *i, const uint64_t *at,
                                    uint32_t mask) {
    const struct code_extra *e = i->extra;
    const uint32_t size = ptx_type_bytes(i->type);
    struct vector_copy copy;
    uint64_t here[WARP_LANES] __attribute__((aligned(64)));
    copy_at(&copy, here);
    ELEMENT_LOOP(mask, move(here[l], at[l], size * e->def_count);)
    for (uint32_t k = 0; k < e->def_count; k++)
        if (e->defs[k].slot != CODE_NO_SLOT)
            element_load(i, SLOT(void, w, e->defs[k].slot), e->defs[k].bytes, here, k * size, mask);
}

ELEMENT_CLIENT static void store_any(struct warp *w, const struct code_inst *i, const uint64_t *at,
                                     uint32_t mask) {
    const struct code_extra *e = i->extra;
    const uint32_t size = ptx_type_bytes(i->type);
    struct vector_copy copy;
    uint64_t here[WARP_LANES] __attribute__((aligned(64)));
    copy_at(&copy, here);
    for (uint32_t k = 0; k < e->use_count; k++)
        element_store(i, SLOT(void, w, e->uses[k].slot), e->uses[k].bytes, here, k * size, mask);
    ELEMENT_LOOP(mask, move(at[l], here[l], size * e->use_count);)
}

/* ---- 128 bits: a lane's lie side by side in a register -----------------------------------------
 */

ELEMENT_CLIENT ISA_HANDLER(load_wide) {
    struct warp_ctx *x = (struct warp_ctx *)w;
    const struct code_extra *e = i->extra;
    uint64_t at[WARP_LANES] __attribute__((aligned(64)));
    if (!resolve_lanes(x, i, mask, VECTOR_PIECE * e->def_count, false, at)) return;
    for (uint32_t k = 0; k < e->def_count; k++) {
        if (e->defs[k].slot == CODE_NO_SLOT) continue;
        vector_16 *d = SLOT(vector_16, w, e->defs[k].slot);
        ELEMENT_LOOP(mask, d[l] = (vector_16)read16(at[l] + VECTOR_PIECE * k);)
    }
}

ELEMENT_CLIENT ISA_HANDLER(store_wide) {
    struct warp_ctx *x = (struct warp_ctx *)w;
    const struct code_extra *e = i->extra;
    uint64_t at[WARP_LANES] __attribute__((aligned(64)));
    if (!resolve_lanes(x, i, mask, VECTOR_PIECE * e->use_count, true, at)) return;
    for (uint32_t k = 0; k < e->use_count; k++) {
        const vector_16 *s = SLOT(const vector_16, w, e->uses[k].slot);
        ELEMENT_LOOP(mask, write16(at[l] + VECTOR_PIECE * k, (__m128i)s[l]);)
    }
}

ISA_HANDLER(load_wide_waiting) {
    ((struct warp_ctx *)w)->spin = true;
    load_wide(w, i, mask);
}

/* ---- selection ----------------------------------------------------------------------------------
 */

/* Finds the registers of a usual shape. Returns false if one is wider than its element. `sink`
 * receives what goes to `_`. */
static inline bool find_registers(const struct warp *w, const struct code_elem *elems,
                                  uint32_t count, uint32_t size, void *sink, void **out) {
    for (uint32_t k = 0; k < count; k++) {
        if (elems[k].bytes != size) return false;
        out[k] = elems[k].slot == CODE_NO_SLOT ? sink : SLOT(void, w, elems[k].slot);
    }
    return true;
}

/* Gives lanes that take no part the address of one that does. */
static inline void fill_absent(uint64_t *at, uint32_t mask) {
    const uint64_t one = at[__builtin_ctz(mask)];
    for (unsigned l = 0; mask != ISA_FULL && l < WARP_LANES; l++)
        at[l] = mask >> l & 1 ? at[l] : one;
}

ISA_HANDLER(load) {
    struct warp_ctx *x = (struct warp_ctx *)w;
    const struct code_extra *e = i->extra;
    const uint32_t n = e->def_count, size = ptx_type_bytes(i->type);
    uint64_t at[WARP_LANES] __attribute__((aligned(64)));
    uint64_t sink[WARP_LANES] __attribute__((aligned(64)));
    void *d[VECTOR_MOST / 4];
    const bool usual = size >= 4 && find_registers(w, e->defs, n, size, sink, d);
    if (usual && mask == ISA_FULL && load_row(x, i, d, n, size)) return;
    if (!resolve_lanes(x, i, mask, size * n, false, at)) return;
    if (!usual) {
        load_any(w, i, at, mask);
        return;
    }
    fill_absent(at, mask);
    if (size * n == 8)
        load_2x32(d, at, mask);
    else if (size == 4)
        for (uint32_t k = 0; k < n; k += 4)
            load_4x32(d + k, at, k * 4, mask);
    else
        for (uint32_t k = 0; k < n; k += 2)
            load_2x64(d + k, at, k * 8, mask);
}

ISA_HANDLER(store) {
    struct warp_ctx *x = (struct warp_ctx *)w;
    const struct code_extra *e = i->extra;
    const uint32_t n = e->use_count, size = ptx_type_bytes(i->type);
    uint64_t at[WARP_LANES] __attribute__((aligned(64)));
    void *s[VECTOR_MOST / 4];
    const bool usual = size >= 4 && find_registers(w, e->uses, n, size, NULL, s);
    if (usual && mask == ISA_FULL && store_row(x, i, s, n, size)) return;
    if (!resolve_lanes(x, i, mask, size * n, true, at)) return;
    if (!usual)
        store_any(w, i, at, mask);
    else if (size * n == 8)
        store_2x32(s, at, mask);
    else if (size == 4)
        for (uint32_t k = 0; k < n; k += 4)
            store_4x32(s + k, at, k * 4, mask);
    else
        for (uint32_t k = 0; k < n; k += 2)
            store_2x64(s + k, at, k * 8, mask);
}

ISA_HANDLER(load_waiting) {
    ((struct warp_ctx *)w)->spin = true;
    load(w, i, mask);
}

ISA_FAMILY(vector_select) {
    if (i->type == PTX_B128)
        return i->op == PTX_OP_st ? store_wide : isa_waits(i) ? load_wide_waiting : load_wide;
    if (i->op == PTX_OP_st) return store;
    return isa_waits(i) ? load_waiting : load;
}
