/* SPDX-License-Identifier: Apache-2.0
 *
 * Resolves the addresses that the lanes of a warp access; compiled by each build. The addresses of
 * all lanes are checked together, and counted as traffic. This is quick for addresses in the window
 * that the instruction hit last, in the block's shared memory and in the lanes' stacks.
 * memory/mem.h handles the remaining cases.
 */
#ifndef DAEMON_DEVICE_SOFT_ISA_MEMORY_RESOLVE_H
#define DAEMON_DEVICE_SOFT_ISA_MEMORY_RESOLVE_H

#include "daemon/device/soft/isa/memory/element.h"
#include "daemon/device/soft/memory/mem.h"
#include "daemon/device/soft/memory/sectors.h"

/* Counts the traffic of the lanes that access global memory. */
static inline void resolve_count(struct warp_ctx *x, const uint64_t *at) {
    if (x->global) x->sectors += sectors_count(at, x->global);
}

/* Memory that an instruction addresses by offsets: the block's shared memory or the lane's
 * stack. */
struct resolve_window {
    uint64_t offset;            /* added to the register */
    uint64_t base, step, bytes; /* base: of lane 0; step: from lane to lane; bytes: size */
};

static inline bool resolve_window_of(const struct warp_ctx *x, const struct code_inst *i,
                                     struct resolve_window *out) {
    const uint64_t offset = (uint64_t)i->offset;
    if (i->space == PTX_SHARED) {
        *out = (struct resolve_window){offset, x->shared_base, 0, x->shared_bytes};
        return true;
    }
    const uint64_t frame = i->target & CODE_FRAME_LOCAL ? x->frame->local_offset : 0;
    *out = (struct resolve_window){offset + frame, x->local_base, x->local_stride, x->local_bytes};
    return i->space == PTX_LOCAL;
}

/* Converts offsets in a resolve_window to addresses. Returns false, without a fault, if the
 * instruction uses no such window or if an offset is outside or misaligned. */
static inline bool resolve_offsets(struct warp_ctx *x, const struct code_inst *i, uint32_t mask,
                                   uint32_t bytes, uint64_t *at) {
    struct resolve_window m;
    if (!resolve_window_of(x, i, &m) || m.bytes < bytes) return false;
    const uint64_t room = m.bytes - bytes;
    uint64_t bad = 0;
    if (i->a == CODE_NO_SLOT) {
        for (unsigned l = 0; l < WARP_LANES; l++)
            at[l] = m.offset;
    } else if (i->a_bytes == 4) {
        const uint32_t *a = SLOT(const uint32_t, &x->w, i->a);
        for (unsigned l = 0; l < WARP_LANES; l++)
            at[l] = a[l] + (uint32_t)m.offset;
    } else {
        const uint64_t *a = SLOT(const uint64_t, &x->w, i->a);
        for (unsigned l = 0; l < WARP_LANES; l++)
            at[l] = a[l] + m.offset;
    }
    for (unsigned l = 0; l < WARP_LANES; l++) {
        const uint64_t lane = 0 - (uint64_t)(mask >> l & 1);
        bad |= ((uint64_t)(at[l] > room) | (at[l] & (bytes - 1))) & lane;
        at[l] += m.base + l * m.step;
    }
    x->global = 0;
    return !bad;
}

/* Computes generic addresses from 64-bit registers. Checks them against the window that this
 * instruction hit last, then by mem_check, and counts the traffic. Returns false after a fault. */
static inline bool resolve_generic(struct warp_ctx *x, const struct code_inst *i, uint32_t mask,
                                   uint32_t bytes, bool write, uint64_t *at) {
    const uint64_t *a = SLOT(const uint64_t, &x->w, i->a);
    const struct range *window = &x->windows[CODE_WINDOW(i)];
    const uint64_t lo = window->lo, room = window->hi - lo - bytes;
    bool ok = window->hi - lo >= bytes;
#ifdef ELEMENT_AVX512
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
    resolve_count(x, at);
    return true;
}

/* Computes and checks addresses for accesses of `bytes` bytes per lane, aligned to `bytes`, in any
 * space. The addresses of lanes outside the mask are meaningless. Returns false after a fault. */
static inline bool resolve_lanes(struct warp_ctx *x, const struct code_inst *i, uint32_t mask,
                                 uint32_t bytes, bool write, uint64_t *at) {
    if (i->space == PTX_GENERIC && i->a_bytes == 8 && i->a != CODE_NO_SLOT)
        return resolve_generic(x, i, mask, bytes, write, at);
    if (resolve_offsets(x, i, mask, bytes, at)) return true;
    if (!mem_resolve(x, i, mask, bytes, write, at)) return false;
    resolve_count(x, at);
    return true;
}

#ifdef ELEMENT_AVX512

/* The vectors of all lanes: side by side, or all the same one. */
struct resolve_row {
    uint64_t first, step; /* bytes */
};

static inline bool resolve_steps64(const uint64_t *a, uint64_t step) {
    const __m512i steps = element_steps((int)step);
    uint32_t off = 0;
    for (unsigned q = 0; q < 4; q++) {
        const uint64_t first = a[0] + 8 * q * step;
        const __m512i row = _mm512_add_epi64(_mm512_set1_epi64((long long)first), steps);
        off |= _mm512_cmpneq_epi64_mask(_mm512_load_si512(a + 8 * q), row);
    }
    return !off;
}

static inline bool resolve_steps32(const uint32_t *a, uint32_t step) {
    const __m512i lane = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    const __m512i one = _mm512_set1_epi32((int)a[0]), steps = _mm512_set1_epi32((int)step);
    const __m512i row = _mm512_add_epi32(one, _mm512_mullo_epi32(lane, steps));
    const __m512i rest = _mm512_add_epi32(row, _mm512_set1_epi32((int)(16 * step)));
    return !(_mm512_cmpneq_epi32_mask(_mm512_load_si512(a), row) |
             _mm512_cmpneq_epi32_mask(_mm512_load_si512(a + 16), rest));
}

/* True if the vectors of all lanes, `bytes` each, form such a row and are valid from end to end;
 * for a write they must lie side by side. They must lie in the window that this instruction hit
 * last, or in shared memory addressed by a 32-bit register. On success counts them as traffic. */
static inline bool resolve_row(struct warp_ctx *x, const struct code_inst *i, uint32_t bytes,
                               bool write, struct resolve_row *out) {
    const bool shared = i->space == PTX_SHARED && i->a_bytes == 4;
    const struct range *window = &x->windows[CODE_WINDOW(i)];
    const uint64_t lo = shared ? 0 : window->lo, size = shared ? x->shared_bytes : window->hi - lo;
    if (i->a == CODE_NO_SLOT || !(shared || (i->space == PTX_GENERIC && i->a_bytes == 8)))
        return false;
    const uint32_t *words = SLOT(const uint32_t, &x->w, i->a);
    const uint64_t *a = SLOT(const uint64_t, &x->w, i->a);
    out->first = shared ? words[0] + (uint32_t)i->offset : a[0] + (uint64_t)i->offset;
    out->step = shared ? words[1] - words[0] : a[1] - a[0];
    if (out->step != bytes && (out->step || write)) return false;
    if (!(shared ? resolve_steps32(words, (uint32_t)out->step) : resolve_steps64(a, out->step)))
        return false;
    const uint64_t all = (WARP_LANES - 1) * out->step + bytes;
    if (size < all || out->first - lo > size - all || out->first & (bytes - 1)) return false;
    if (shared)
        out->first += x->shared_base;
    else if (mem_counted(x, i, window))
        x->sectors +=
            (uint32_t)((out->first + all - bytes) / SECTOR_BYTES - out->first / SECTOR_BYTES) + 1;
    return true;
}

#endif

#endif
