/* SPDX-License-Identifier: Apache-2.0
 *
 * cp.async.bulk in one dimension: 16 bytes or a multiple, from global or shared memory to the
 * other, or within shared memory. Done at once; what a barrier was told to expect has come then.
 *
 * Fields: a is where to and b where from, offsets where they are in shared memory (vec: bit 0 for
 * a, bit 1 for b), else generic addresses; c the bytes; e the barrier's offset.
 */
#include "common/err.h"
#include "daemon/device/soft/code/handlers.h"
#include "daemon/device/soft/exec/mbarrier.h"
#include "daemon/device/soft/exec/mem.h"

#define UNIT 16

/* Moves at once, as isa/vector.c explains. */
typedef uint64_t unit __attribute__((vector_size(UNIT), may_alias));

__attribute__((no_sanitize("thread"))) static void move(uint64_t to, uint64_t from,
                                                        uint32_t bytes) {
    for (uint32_t k = 0; k < bytes; k += UNIT)
        *(volatile unit *)(uintptr_t)(to + k) = *(const volatile unit *)(uintptr_t)(from + k);
}

static bool refuse(struct warp *w, const struct code_inst *i, uint32_t lane, int err, uint64_t at,
                   const char *what) {
    warp_fault(w, i, lane, err, at, what);
    return false;
}

/* A shared offset as an address. */
static bool in_shared(struct warp_ctx *x, const struct code_inst *i, uint32_t lane, uint32_t bytes,
                      uint32_t align, uint64_t *at) {
    if (x->shared_bytes < bytes || *at > x->shared_bytes - bytes)
        return refuse(&x->w, i, lane, ERR_ILLEGAL_ADDRESS, *at,
                      "outside the block's shared memory");
    if (*at & (align - 1)) return refuse(&x->w, i, lane, ERR_MISALIGNED, *at, NULL);
    *at += x->shared_base;
    return true;
}

static bool in_global(struct warp_ctx *x, const struct code_inst *i, uint32_t lane, uint32_t bytes,
                      bool write, uint64_t at) {
    bool ok = mem_lane_ok(x, lane, at, bytes, write);
    if (ok && !(at & (UNIT - 1))) return true;
    return refuse(&x->w, i, lane, ok ? ERR_MISALIGNED : ERR_ILLEGAL_ADDRESS, at, NULL);
}

static bool resolve(struct warp_ctx *x, const struct code_inst *i, uint32_t lane, uint32_t bytes,
                    bool shared, bool write, uint64_t *at) {
    if (shared) return in_shared(x, i, lane, bytes, UNIT, at);
    x->sectors += (*at % 32 + bytes + 31) / 32;
    return in_global(x, i, lane, bytes, write, *at);
}

static bool copy_lane(struct warp_ctx *x, const struct code_inst *i, uint32_t lane) {
    struct warp *w = &x->w;
    uint64_t to = SLOT(const uint64_t, w, i->a)[lane], from = SLOT(const uint64_t, w, i->b)[lane];
    uint64_t barrier = i->e == CODE_NO_SLOT ? 0 : SLOT(const uint64_t, w, i->e)[lane];
    const uint32_t bytes = SLOT(const uint32_t, w, i->c)[lane];
    if (bytes % UNIT)
        return refuse(w, i, lane, ERR_ILLEGAL_INSTRUCTION, bytes, "the size is no multiple of 16");
    if (bytes && (!resolve(x, i, lane, bytes, i->vec & 1, true, &to) ||
                  !resolve(x, i, lane, bytes, i->vec & 2, false, &from)))
        return false;
    if (i->e != CODE_NO_SLOT && !in_shared(x, i, lane, 8, 8, &barrier)) return false;
    move(to, from, bytes);
    return i->e == CODE_NO_SLOT || mbarrier_came(w, i, lane, barrier, bytes);
}

void bulk_copy(struct warp *w, const struct code_inst *i, uint32_t mask) {
    for (uint32_t left = mask; left; left &= left - 1)
        if (!copy_lane((struct warp_ctx *)w, i, (uint32_t)__builtin_ctz(left))) return;
}
