/* SPDX-License-Identifier: Apache-2.0
 *
 * Asynchronous copies that are done at once here and complete on a barrier or in a group.
 * cp.async.bulk and cp.reduce.async.bulk in one dimension copy a multiple of 16 bytes between
 * global and shared memory, or within the cluster's shared memory. st.async and red.async store a
 * value in the cluster's shared memory. The barrier then counts the bytes as arrived. st.bulk
 * stores zeros.
 *
 * Instruction fields: a is the destination; b the source; c the size in bytes; e the barrier, or
 * none; sub and type say how to combine with the old value, unless sub is PTX_SUB_NONE. extra's
 * uses are the values of st.async and red.async. For copies to shared memory they are the mask of
 * the receiving blocks, or the bytes to ignore at each end. For copies from shared memory they are
 * the mask of the bytes of each 16 that are copied.
 */
#include "daemon/device/soft/async/bulk.h"

#include <string.h>

#include "common/err.h"
#include "daemon/device/soft/async/mbarrier.h"
#include "daemon/device/soft/instructions/ptx_tables.h"
#include "daemon/device/soft/launch/cluster_state.h"
#include "daemon/device/soft/memory/atomic_access.h"
#include "daemon/device/soft/memory/mem.h"

#define UNIT 16

/* Moves 16 bytes at a time, each a single access; isa/memory/vector.c explains why. */
typedef uint64_t unit __attribute__((vector_size(UNIT), may_alias));
typedef uint8_t __attribute__((may_alias)) client_u8;

__attribute__((no_sanitize("thread"))) static void move(uint64_t to, uint64_t from,
                                                        uint32_t bytes) {
    for (uint32_t k = 0; k < bytes; k += UNIT)
        *(volatile unit *)(uintptr_t)(to + k) = *(const volatile unit *)(uintptr_t)(from + k);
}

__attribute__((no_sanitize("thread"))) static void move_some(uint64_t to, uint64_t from,
                                                             uint32_t bytes, uint32_t mask) {
    for (uint32_t k = 0; k < bytes; k++)
        if (mask >> k % UNIT & 1)
            *(volatile client_u8 *)(uintptr_t)(to + k) =
                *(const volatile client_u8 *)(uintptr_t)(from + k);
}

static void move_inner(uint64_t to, uint64_t from, uint32_t bytes, uint32_t left, uint32_t right) {
    for (uint32_t k = 0; k < bytes; k += UNIT) {
        const uint32_t first = k == 0 ? left : 0, after = k + UNIT == bytes ? right : 0;
        if (first || after)
            move_some(to + k, from + k, UNIT, UINT16_MAX << first & UINT16_MAX >> after);
        else
            move(to + k, from + k, UNIT);
    }
}

/* Combines values. f32 sums exist only in global memory and are flushed there, like those of
 * atom. */
static void combine(const struct code_inst *i, uint64_t to, uint64_t from, uint32_t bytes) {
    const uint32_t each = ptx_type_bytes(i->type);
    struct code_inst flushing = *i;
    flushing.mods |= PTX_MOD_FTZ;
    for (uint32_t k = 0; k < bytes; k += each) {
        uint64_t value = 0;
        memcpy(&value, (const void *)(uintptr_t)(from + k), each);
        atomic_access_combine(&flushing, to + k, value);
    }
}

/* ---- addresses ---------------------------------------------------------------------------------
 */

static bool refuse(struct warp *w, const struct code_inst *i, uint32_t lane, int err, uint64_t at,
                   const char *what) {
    warp_fault(w, i, lane, err, at, what);
    return false;
}

/* Converts an offset in the block's shared memory to an address and checks it. */
static bool in_block(struct warp_ctx *x, const struct code_inst *i, uint32_t lane, uint32_t bytes,
                     uint64_t *at) {
    if (x->shared_bytes < bytes || *at > x->shared_bytes - bytes)
        return refuse(&x->w, i, lane, ERR_ILLEGAL_ADDRESS, *at,
                      "outside the block's shared memory");
    if (*at & (UNIT - 1)) return refuse(&x->w, i, lane, ERR_MISALIGNED, *at, NULL);
    *at += x->shared_base;
    return true;
}

bool bulk_in_cluster(struct warp_ctx *x, const struct code_inst *i, uint32_t lane, uint64_t bytes,
                     uint32_t align, bool offset, uint64_t *at) {
    const struct block *b = x->block;
    uint64_t addr = offset ? cluster_of_offset(b->cluster, b->rank, *at) : *at;
    if (!mem_in_cluster(x, addr, bytes))
        return refuse(&x->w, i, lane, ERR_ILLEGAL_ADDRESS, *at,
                      "outside the cluster's shared memory");
    if (addr & (align - 1)) return refuse(&x->w, i, lane, ERR_MISALIGNED, *at, NULL);
    *at = addr;
    return true;
}

static bool in_global(struct warp_ctx *x, const struct code_inst *i, uint32_t lane, uint32_t bytes,
                      bool write, uint64_t at) {
    x->sectors += (at % 32 + bytes + 31) / 32;
    bool ok = mem_lane_ok(x, lane, at, bytes, write);
    if (ok && !(at & (UNIT - 1))) return true;
    return refuse(&x->w, i, lane, ok ? ERR_MISALIGNED : ERR_ILLEGAL_ADDRESS, at, NULL);
}

bool bulk_find_barrier(struct warp_ctx *x, const struct code_inst *i, uint32_t lane, uint64_t *at) {
    return bulk_in_cluster(x, i, lane, 8, 8, i->vec & CODE_BULK_BARRIER, at);
}

uint64_t bulk_in_rank(uint64_t at, uint32_t rank) {
    return (rank + 1ull) << CLUSTER_RANK_BIT | (at & ((1u << CLUSTER_RANK_BIT) - 1));
}

/* ---- copies ------------------------------------------------------------------------------------
 */

struct copy {
    uint64_t to, from, barrier;
    uint32_t bytes;
};

static bool find_from(struct warp_ctx *x, const struct code_inst *i, uint32_t lane,
                      struct copy *c) {
    return i->vec & CODE_BULK_FROM ? in_block(x, i, lane, c->bytes, &c->from)
                                   : in_global(x, i, lane, c->bytes, false, c->from);
}

/* Copies to the cluster's shared memory. */
static bool copy_up(struct warp_ctx *x, const struct code_inst *i, uint32_t lane, struct copy c) {
    if (c.bytes && !bulk_in_cluster(x, i, lane, c.bytes, UNIT, true, &c.to)) return false;
    if (!bulk_find_barrier(x, i, lane, &c.barrier)) return false;
    if (i->sub == PTX_SUB_NONE)
        move(c.to, c.from, c.bytes);
    else
        combine(i, c.to, c.from, c.bytes);
    return mbarrier_came(&x->w, i, lane, c.barrier, c.bytes);
}

/* Copies to the same place in each block of the mask, and signals each block's barrier. */
static bool copy_to_all(struct warp_ctx *x, const struct code_inst *i, uint32_t lane, struct copy c,
                        uint32_t blocks) {
    for (; blocks; blocks &= blocks - 1) {
        const uint32_t rank = (uint32_t)__builtin_ctz(blocks);
        struct copy one = c;
        one.to = bulk_in_rank(c.to, rank);
        one.barrier = bulk_in_rank(c.barrier, rank);
        if (!copy_up(x, i, lane, one)) return false;
    }
    return true;
}

/* Copies all but ignored bytes at the ends. Ignored bytes may lie outside the client's memory, but
 * count as arrived at the barrier. */
static bool copy_inner(struct warp_ctx *x, const struct code_inst *i, uint32_t lane,
                       struct copy c) {
    const struct code_extra *ends = i->extra;
    const uint32_t left = SLOT(const uint32_t, &x->w, ends->uses[0].slot)[lane],
                   right = SLOT(const uint32_t, &x->w, ends->uses[1].slot)[lane];
    if (left >= UNIT || right >= UNIT || left + right > c.bytes)
        return refuse(&x->w, i, lane, ERR_ILLEGAL_INSTRUCTION, c.from,
                      "ignored: over 15 bytes, or all");
    const uint32_t inner = c.bytes - left - right;
    x->sectors += (c.from % 32 + c.bytes + 31) / 32;
    if (inner && !mem_lane_ok(x, lane, c.from + left, inner, false))
        return refuse(&x->w, i, lane, ERR_ILLEGAL_ADDRESS, c.from + left, NULL);
    if (c.from & (UNIT - 1)) return refuse(&x->w, i, lane, ERR_MISALIGNED, c.from, NULL);
    if (c.bytes && !bulk_in_cluster(x, i, lane, c.bytes, UNIT, true, &c.to)) return false;
    if (!bulk_find_barrier(x, i, lane, &c.barrier)) return false;
    move_inner(c.to, c.from, c.bytes, left, right);
    return mbarrier_came(&x->w, i, lane, c.barrier, c.bytes);
}

static bool copy_down(struct warp_ctx *x, const struct code_inst *i, uint32_t lane, struct copy c) {
    const struct code_extra *bytes = i->extra;
    if (c.bytes && !in_global(x, i, lane, c.bytes, true, c.to)) return false;
    if (bytes)
        move_some(c.to, c.from, c.bytes, SLOT(const uint16_t, &x->w, bytes->uses[0].slot)[lane]);
    else if (i->sub == PTX_SUB_NONE)
        move(c.to, c.from, c.bytes);
    else
        combine(i, c.to, c.from, c.bytes);
    return true;
}

static bool copy_lane(struct warp_ctx *x, const struct code_inst *i, uint32_t lane) {
    struct warp *w = &x->w;
    const struct code_extra *blocks = i->extra;
    struct copy c = {.to = SLOT(const uint64_t, w, i->a)[lane],
                     .from = SLOT(const uint64_t, w, i->b)[lane],
                     .bytes = SLOT(const uint32_t, w, i->c)[lane]};
    if (c.bytes % UNIT)
        return refuse(w, i, lane, ERR_ILLEGAL_INSTRUCTION, c.bytes,
                      "the size is no multiple of 16");
    if (i->e != CODE_NO_SLOT) c.barrier = SLOT(const uint64_t, w, i->e)[lane];
    if (i->vec & CODE_BULK_INNER) return copy_inner(x, i, lane, c);
    if (c.bytes && !find_from(x, i, lane, &c)) return false;
    if (i->e == CODE_NO_SLOT) return copy_down(x, i, lane, c);
    return blocks ? copy_to_all(x, i, lane, c, SLOT(const uint16_t, w, blocks->uses[0].slot)[lane])
                  : copy_up(x, i, lane, c);
}

void bulk_copy(struct warp *w, const struct code_inst *i, uint32_t mask) {
    for (uint32_t left = mask; left; left &= left - 1)
        if (!copy_lane((struct warp_ctx *)w, i, (uint32_t)__builtin_ctz(left))) return;
}

/* ---- values ------------------------------------------------------------------------------------
 */

static void put_value(struct warp *w, const struct code_inst *i, uint32_t lane, uint64_t to,
                      const struct code_elem *from) {
    const unsigned char *at = SLOT(const unsigned char, w, from->slot) + (size_t)lane * from->bytes;
    uint64_t value = 0;
    if (i->sub == PTX_SUB_NONE) {
        memcpy((void *)(uintptr_t)to, at, from->bytes);
        return;
    }
    memcpy(&value, at, from->bytes);
    atomic_access_combine(i, to, value);
}

/* Stores 16 bytes at the same place in every block, and signals each block's barrier. */
static bool store_everywhere(struct warp_ctx *x, const struct code_inst *i, uint32_t lane,
                             uint64_t to, uint64_t barrier) {
    const struct cluster *c = x->block->cluster;
    const struct code_elem *value = &((const struct code_extra *)i->extra)->uses[0];
    uint64_t at = 0, bar = 0;
    uint32_t rank;
    if (!cluster_find(c, to, &rank, &at) || !cluster_find(c, barrier, &rank, &bar)) return false;
    for (uint32_t r = 0; r < c->size; r++) {
        put_value(&x->w, i, lane, cluster_address(c, r, at), value);
        if (!mbarrier_came(&x->w, i, lane, cluster_address(c, r, bar), value->bytes)) return false;
    }
    return true;
}

static bool store_lane(struct warp_ctx *x, const struct code_inst *i, uint32_t lane) {
    struct warp *w = &x->w;
    const struct code_extra *values = i->extra;
    const uint32_t each = values->uses[0].bytes, bytes = each * values->use_count;
    uint64_t to = SLOT(const uint64_t, w, i->a)[lane],
             barrier = SLOT(const uint64_t, w, i->e)[lane];
    if (!bulk_in_cluster(x, i, lane, bytes, bytes, i->vec & CODE_BULK_TO, &to) ||
        !bulk_find_barrier(x, i, lane, &barrier))
        return false;
    if (i->vec & CODE_BULK_MASK) return store_everywhere(x, i, lane, to, barrier);
    for (uint32_t k = 0; k < values->use_count; k++)
        put_value(w, i, lane, to + k * each, &values->uses[k]);
    return mbarrier_came(w, i, lane, barrier, bytes);
}

void bulk_store(struct warp *w, const struct code_inst *i, uint32_t mask) {
    for (uint32_t left = mask; left; left &= left - 1)
        if (!store_lane((struct warp_ctx *)w, i, (uint32_t)__builtin_ctz(left))) return;
}

/* ---- zeros -------------------------------------------------------------------------------------
 */

static bool fill_lane(struct warp_ctx *x, const struct code_inst *i, uint32_t lane) {
    struct warp *w = &x->w;
    uint64_t at = SLOT(const uint64_t, w, i->a)[lane], bytes = SLOT(const uint64_t, w, i->c)[lane];
    uint64_t offset = i->vec & CODE_BULK_TO ? at : at - x->shared_base;
    if (bytes % 8)
        return refuse(w, i, lane, ERR_ILLEGAL_INSTRUCTION, bytes, "the size is no multiple of 8");
    if (bytes > x->shared_bytes || offset > x->shared_bytes - bytes)
        return refuse(w, i, lane, ERR_ILLEGAL_ADDRESS, at, "outside the block's shared memory");
    if (offset % 8) return refuse(w, i, lane, ERR_MISALIGNED, at, NULL);
    memset((void *)(uintptr_t)(x->shared_base + offset), 0, bytes);
    return true;
}

void bulk_fill(struct warp *w, const struct code_inst *i, uint32_t mask) {
    for (uint32_t left = mask; left; left &= left - 1)
        if (!fill_lane((struct warp_ctx *)w, i, (uint32_t)__builtin_ctz(left))) return;
}
