/* SPDX-License-Identifier: Apache-2.0
 *
 * ld and st of one element per lane. An access has two steps: the addresses of all lanes are
 * computed and checked together (against the window hit last, or the block's shared memory), then
 * the values move (element.h). With AVX-512 both steps stay in registers.
 */
#include "daemon/device/soft/isa/memory/access.h"

#include <string.h>

#include "daemon/device/soft/instructions/ptx_tables.h"
#include "daemon/device/soft/isa/memory/element.h"
#include "daemon/device/soft/isa/memory/resolve.h"
#include "daemon/device/soft/memory/mem.h"
#include "daemon/device/soft/memory/sectors.h"

#define ACCESS_CTX(w) ((struct warp_ctx *)(w))

/* ---- any space ----------------------------------------------------------------------
 */

ELEMENT_CLIENT ISA_HANDLER(load_lanes) {
    uint64_t at[WARP_LANES] __attribute__((aligned(64)));
    if (!resolve_lanes(ACCESS_CTX(w), i, mask, ptx_type_bytes(i->type), false, at)) return;
    element_load(i, SLOT(void, w, i->d), i->d_bytes, at, 0, mask);
}

ELEMENT_CLIENT ISA_HANDLER(store_lanes) {
    uint64_t at[WARP_LANES] __attribute__((aligned(64)));
    if (!resolve_lanes(ACCESS_CTX(w), i, mask, ptx_type_bytes(i->type), true, at)) return;
    element_store(i, SLOT(void, w, i->b), i->d_bytes, at, 0, mask);
}

/* ---- the usual: one word a lane, generic address in a 64-bit register --------------------------
 */

#define ACCESS_HALF (WARP_LANES / 2)

/* True if half a warp of addresses ascends from the first by `step`. */
static inline bool steps_are(const uint64_t *a, uint64_t step) {
#ifdef ELEMENT_AVX512
    const __m512i row =
        _mm512_add_epi64(_mm512_set1_epi64((long long)a[0]), element_steps((int)step));
    const uint64_t row_bytes = 8 * step;
    const __m512i rest = _mm512_add_epi64(row, _mm512_set1_epi64((long long)row_bytes));
    return !(_mm512_cmpneq_epi64_mask(_mm512_load_si512(a), row) |
             _mm512_cmpneq_epi64_mask(_mm512_load_si512(a + 8), rest));
#else
    uint64_t off = 0;
    for (unsigned l = 1; l < ACCESS_HALF; l++)
        off |= a[l] ^ (a[0] + l * step);
    return !off;
#endif
}

/* Both halves of a warp, each accessing either one word or a row of consecutive words. Blocks of 16
 * by 16 threads produce this shape. */
struct access_halves {
    uint64_t first[2], last[2]; /* first and last word of each half */
};

/* True if the addresses of all lanes have this shape and lie in the window that this instruction
 * hit last; only the ends are checked. On success counts the lanes as traffic. */
static inline bool split_halves(struct warp_ctx *x, const struct code_inst *i, uint32_t bytes,
                                struct access_halves *out) {
    const uint64_t *a = SLOT(const uint64_t, &x->w, i->a);
    const struct range *window = &x->windows[CODE_WINDOW(i)];
    const uint64_t lo = window->lo, size = window->hi - lo, row = (ACCESS_HALF - 1) * bytes;
    uint64_t bad = size < row + bytes;
    for (unsigned h = 0; h < 2; h++, a += ACCESS_HALF) {
        uint64_t extent = row;
        if (!steps_are(a, bytes)) {
            if (!steps_are(a, 0)) return false;
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

/* Loads one `type` per lane into a `reg`, by halves if possible, otherwise by `rest`. */
#define ACCESS_LOAD(name, type, reg, rest)                                              \
    ELEMENT_CLIENT static __attribute__((noinline)) void load_any_##name(               \
        struct warp *w, const struct code_inst *i, uint32_t mask) {                     \
        uint64_t at[WARP_LANES] __attribute__((aligned(64)));                           \
        reg *d = SLOT(reg, w, i->d);                                                    \
        if (resolve_generic(ACCESS_CTX(w), i, mask, sizeof(type), false, at)) rest;     \
    }                                                                                   \
    ELEMENT_CLIENT ISA_HANDLER(load_##name) {                                           \
        struct access_halves half;                                                      \
        if (mask != ISA_FULL || !split_halves(ACCESS_CTX(w), i, sizeof(type), &half)) { \
            load_any_##name(w, i, mask);                                                \
            return;                                                                     \
        }                                                                               \
        reg *d = SLOT(reg, w, i->d);                                                    \
        for (unsigned h = 0; h < 2; h++, d += ACCESS_HALF) {                            \
            const type *from = (const type *)(uintptr_t)half.first[h];                  \
            type row[ACCESS_HALF];                                                      \
            if (half.first[h] == half.last[h]) {                                        \
                const type one = ELEMENT(type, from);                                   \
                for (unsigned l = 0; l < ACCESS_HALF; l++)                              \
                    d[l] = (reg)one;                                                    \
            } else if (sizeof(type) == sizeof(reg)) {                                   \
                element_row_copy(d, from, sizeof(row));                                 \
            } else {                                                                    \
                element_row_copy(row, from, sizeof(row));                               \
                for (unsigned l = 0; l < ACCESS_HALF; l++)                              \
                    d[l] = (reg)row[l];                                                 \
            }                                                                           \
        }                                                                               \
    }
ACCESS_LOAD(generic32, element_u32, uint32_t, element_load32(d, at, 0, mask))
ACCESS_LOAD(generic64, element_u64, uint64_t, element_load64(d, at, 0, mask))
#define ACCESS_SMALL(name, type, reg) \
    ACCESS_LOAD(name, type, reg, ELEMENT_LOOP(mask, d[l] = (reg)ELEMENT(type, at[l]);))
ACCESS_SMALL(u8_16, element_u8, uint16_t)
ACCESS_SMALL(u8_32, element_u8, uint32_t)
ACCESS_SMALL(s8_16, element_s8, uint16_t)
ACCESS_SMALL(s8_32, element_s8, uint32_t)
ACCESS_SMALL(u16_16, element_u16, uint16_t)
ACCESS_SMALL(u16_32, element_u16, uint32_t)

#define ACCESS_STORE(bits)                                                                     \
    ELEMENT_CLIENT static __attribute__((noinline)) void store_any##bits(                      \
        struct warp *w, const struct code_inst *i, uint32_t mask) {                            \
        uint64_t at[WARP_LANES] __attribute__((aligned(64)));                                  \
        if (resolve_generic(ACCESS_CTX(w), i, mask, bits / 8, true, at))                       \
            element_store##bits(SLOT(const uint##bits##_t, w, i->b), at, 0, mask);             \
    }                                                                                          \
    ELEMENT_CLIENT ISA_HANDLER(store_generic##bits) {                                          \
        struct access_halves half;                                                             \
        if (mask != ISA_FULL || !split_halves(ACCESS_CTX(w), i, bits / 8, &half)) {            \
            store_any##bits(w, i, mask);                                                       \
            return;                                                                            \
        }                                                                                      \
        const uint##bits##_t *s = SLOT(const uint##bits##_t, w, i->b);                         \
        for (unsigned h = 0; h < 2; h++, s += ACCESS_HALF) {                                   \
            element_u##bits *to = (element_u##bits *)(uintptr_t)half.first[h];                 \
            if (half.first[h] != half.last[h])                                                 \
                element_row_copy(to, s, ACCESS_HALF * sizeof(*s));                             \
            else                                                                               \
                ELEMENT(element_u##bits, to) = s[ACCESS_HALF - 1]; /* the last lane's value */ \
        }                                                                                      \
    }
ACCESS_STORE(32)
ACCESS_STORE(64)

/* ---- shared memory through a 32-bit register ---------------------------------------------------
 */

#ifdef ELEMENT_AVX512

/* Computes the offsets of 16 lanes. Returns false when one of the lanes in `m` is outside the
 * memory or misaligned. */
static inline bool window_offsets(const struct warp_ctx *x, const struct code_inst *i, unsigned h,
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

static inline __mmask16 row_offsets(__m512i v, uint32_t base, __mmask16 m) {
    const __m512i iota =
        _mm512_set_epi32(60, 56, 52, 48, 44, 40, 36, 32, 28, 24, 20, 16, 12, 8, 4, 0);
    const __m512i row = _mm512_add_epi32(_mm512_set1_epi32((int)base), iota);
    return _mm512_cmpeq_epi32_mask(v, row) & m;
}

/* Computes all offsets first, because an instruction may load into its own address register. */
static inline bool shared_offsets(const struct warp_ctx *x, const struct code_inst *i,
                                  uint32_t mask, __m512i v[2]) {
    return x->shared_bytes >= 4 && window_offsets(x, i, 0, (__mmask16)mask, 4, &v[0]) &&
           window_offsets(x, i, 1, (__mmask16)(mask >> 16), 4, &v[1]);
}

/* Position of all lanes' words relative to the first lane's. */
enum access_shape { ACCESS_ANY, ACCESS_ONE, ACCESS_ROW };

static inline enum access_shape shape_of(const uint32_t *a) {
    const __m512i row =
        _mm512_set_epi32(60, 56, 52, 48, 44, 40, 36, 32, 28, 24, 20, 16, 12, 8, 4, 0);
    const __m512i low = _mm512_load_si512(a), high = _mm512_load_si512(a + 16);
    const __m512i one = _mm512_set1_epi32((int)a[0]), half = _mm512_set1_epi32(64);
    if (!(_mm512_cmpneq_epi32_mask(low, one) | _mm512_cmpneq_epi32_mask(high, one)))
        return ACCESS_ONE;
    const __m512i far = _mm512_sub_epi32(high, half), near = _mm512_add_epi32(one, row);
    const bool other = _mm512_cmpneq_epi32_mask(low, near) | _mm512_cmpneq_epi32_mask(far, near);
    return other ? ACCESS_ANY : ACCESS_ROW;
}

/* Finds the word of all lanes, or the first word of their row. Returns false if it is not aligned
 * or not within shared memory from end to end. */
static inline bool found_together(const struct warp_ctx *x, const struct code_inst *i,
                                  uint32_t bytes, uint32_t *word) {
    *word = SLOT(const uint32_t, &x->w, i->a)[0] + (uint32_t)i->offset;
    return (uint64_t)*word + bytes <= x->shared_bytes && !(*word & 3);
}

/* Loads when all lanes access one word, or a row of words. Two checks then do for the warp. */
ELEMENT_CLIENT static inline bool load_together(const struct warp_ctx *x,
                                                const struct code_inst *i) {
    uint32_t *d = SLOT(uint32_t, &x->w, i->d), word;
    const enum access_shape shape = shape_of(SLOT(const uint32_t, &x->w, i->a));
    if (shape == ACCESS_ANY || !found_together(x, i, shape == ACCESS_ONE ? 4 : 128, &word))
        return false;
    const unsigned char *from = (const unsigned char *)(uintptr_t)x->shared_base + word;
    if (shape == ACCESS_ROW) {
        element_row_copy(d, from, 128);
        return true;
    }
    const __m512i one = _mm512_set1_epi32((int)ELEMENT(element_u32, from));
    _mm512_store_si512(d, one);
    _mm512_store_si512(d + 16, one);
    return true;
}

ELEMENT_CLIENT static inline bool store_together(const struct warp_ctx *x,
                                                 const struct code_inst *i) {
    uint32_t word;
    if (shape_of(SLOT(const uint32_t, &x->w, i->a)) != ACCESS_ROW ||
        !found_together(x, i, 128, &word))
        return false;
    element_row_copy((unsigned char *)(uintptr_t)x->shared_base + word,
                     SLOT(const uint32_t, &x->w, i->b), 128);
    return true;
}

static __attribute__((noinline)) void load_apart(struct warp *w, const struct code_inst *i,
                                                 uint32_t mask) {
    struct warp_ctx *x = ACCESS_CTX(w);
    uint32_t *d = SLOT(uint32_t, w, i->d);
    const uint32_t *a = SLOT(const uint32_t, w, i->a);
    const unsigned char *shared = (const unsigned char *)(uintptr_t)x->shared_base;
    __m512i v[2];
    if (!shared_offsets(x, i, mask, v)) {
        load_lanes(w, i, mask);
        return;
    }
    for (unsigned h = 0; h < 2; h++) {
        const __mmask16 m = (__mmask16)(mask >> 16 * h);
        if (!m) continue;
        const unsigned first = (unsigned)__builtin_ctz(m);
        const uint32_t word = a[16 * h + first] + (uint32_t)i->offset;
        __m512i r;
        if ((_mm512_cmpeq_epi32_mask(v[h], _mm512_set1_epi32((int)word)) & m) == m)
            r = _mm512_set1_epi32((int)ELEMENT(element_u32, shared + word));
        else if (row_offsets(v[h], word - 4 * first, m) == m)
            r = _mm512_maskz_loadu_epi32(m, shared + (int64_t)word - 4 * (int64_t)first);
        else
            r = _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), m, v[h], shared, 1);
        _mm512_mask_store_epi32(d + 16 * h, m, r);
    }
}

ISA_HANDLER(load_shared32) {
    if (mask == ISA_FULL && load_together(ACCESS_CTX(w), i)) return;
    load_apart(w, i, mask);
}

static __attribute__((noinline)) void store_apart(struct warp *w, const struct code_inst *i,
                                                  uint32_t mask) {
    struct warp_ctx *x = ACCESS_CTX(w);
    const uint32_t *s = SLOT(const uint32_t, w, i->b), *a = SLOT(const uint32_t, w, i->a);
    unsigned char *shared = (unsigned char *)(uintptr_t)x->shared_base;
    __m512i v[2];
    if (!shared_offsets(x, i, mask, v)) {
        store_lanes(w, i, mask);
        return;
    }
    for (unsigned h = 0; h < 2; h++) {
        const __mmask16 m = (__mmask16)(mask >> 16 * h);
        if (!m) continue;
        const unsigned first = (unsigned)__builtin_ctz(m);
        const uint32_t word = a[16 * h + first] + (uint32_t)i->offset;
        const __m512i value = _mm512_load_si512(s + 16 * h);
        if (row_offsets(v[h], word - 4 * first, m) == m)
            _mm512_mask_storeu_epi32(shared + (int64_t)word - 4 * (int64_t)first, m, value);
        else
            _mm512_mask_i32scatter_epi32(shared, m, v[h], value, 1);
    }
}

ISA_HANDLER(store_shared32) {
    if (mask == ISA_FULL && store_together(ACCESS_CTX(w), i)) return;
    store_apart(w, i, mask);
}

#else

static inline bool shared_offsets(struct warp_ctx *x, const struct code_inst *i, uint32_t mask,
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

ISA_HANDLER(load_shared32) {
    uint64_t at[WARP_LANES] __attribute__((aligned(64)));
    if (shared_offsets(ACCESS_CTX(w), i, mask, 4, at))
        element_load32(SLOT(uint32_t, w, i->d), at, 0, mask);
    else
        load_lanes(w, i, mask);
}

ISA_HANDLER(store_shared32) {
    uint64_t at[WARP_LANES] __attribute__((aligned(64)));
    if (shared_offsets(ACCESS_CTX(w), i, mask, 4, at))
        element_store32(SLOT(const uint32_t, w, i->b), at, 0, mask);
    else
        store_lanes(w, i, mask);
}

#endif

/* ---- a kernel's parameter: the same bytes for all lanes ----------------------------------------
 */

#define ACCESS_PARAM(bits)                                                                       \
    ISA_HANDLER(load_param##bits) {                                                              \
        uint##bits##_t *d = SLOT(uint##bits##_t, w, i->d), one;                                  \
        /* The decoder has checked the offset. */                                                \
        memcpy(&one, (const void *)(uintptr_t)(ACCESS_CTX(w)->param_base + (uint64_t)i->offset), \
               sizeof(one));                                                                     \
        ISA_LANES(mask, uint##bits##_t, d, v = one;);                                            \
    }
ACCESS_PARAM(32)
ACCESS_PARAM(64)

/* ---- loads that may poll for another thread's store --------------------------------------------
 */

#define ACCESS_WAITING(name)        \
    ISA_HANDLER(waiting_##name) {   \
        ACCESS_CTX(w)->spin = true; \
        load_##name(w, i, mask);    \
    }
ACCESS_WAITING(lanes)
ACCESS_WAITING(generic32)
ACCESS_WAITING(generic64)
ACCESS_WAITING(shared32)

static code_handler *pick_waiting(code_handler *quick) {
    if (quick == load_generic32) return waiting_generic32;
    if (quick == load_generic64) return waiting_generic64;
    return quick == load_shared32 ? waiting_shared32 : waiting_lanes;
}

/* ---- selection ---------------------------------------------------------------------------------
 */

static code_handler *pick_small(const struct code_inst *i) {
    const bool sign = ptx_type_class(i->type) == 's';
    if (i->d_bytes == 8 || (sign && i->d_bytes == 4 && ptx_type_bytes(i->type) == 2)) return NULL;
    if (ptx_type_bytes(i->type) == 2) return i->d_bytes == 2 ? load_u16_16 : load_u16_32;
    if (sign) return i->d_bytes == 2 ? load_s8_16 : load_s8_32;
    return i->d_bytes == 2 ? load_u8_16 : load_u8_32;
}

static code_handler *pick_quick(const struct code_inst *i, bool load) {
    const uint32_t size = ptx_type_bytes(i->type);
    if (load && i->space == PTX_PARAM && i->a == CODE_NO_SLOT && i->d_bytes == size) {
        if (size == 4) return load_param32;
        if (size == 8) return load_param64;
    }
    if (load && i->space == PTX_GENERIC && i->a_bytes == 8 && i->a >= 0 && size < 4)
        return pick_small(i);
    if (i->a < 0 || i->d_bytes != size || (size != 4 && size != 8)) return NULL;
    if (i->space == PTX_GENERIC && i->a_bytes == 8) {
        if (size == 4) return load ? load_generic32 : store_generic32;
        return load ? load_generic64 : store_generic64;
    }
    if (i->space == PTX_SHARED && i->a_bytes == 4 && size == 4)
        return load ? load_shared32 : store_shared32;
    return NULL;
}

ISA_FAMILY(access_select) {
    const bool load = i->op != PTX_OP_st;
    if (i->extra) return ISA_FN(vector_select)(i);
    code_handler *quick = pick_quick(i, load);
    if (load && isa_waits(i)) return pick_waiting(quick);
    return quick ? quick : load ? load_lanes : store_lanes;
}
