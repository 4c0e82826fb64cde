/* SPDX-License-Identifier: Apache-2.0
 *
 * alloca: memory that a function takes from its lanes' stacks while it runs, behind its own local
 * variables. Each lane takes as much as it asks for. The memory is released with the frame;
 * functions called meanwhile begin behind it (frame.c).
 */
#include "daemon/device/soft/exec/stack.h"

#include "common/err.h"
#include "daemon/device/soft/launch/warp.h"

/* Offset in the lane's stack at which its next piece begins. */
static uint64_t top_of(const struct frame *f, uint32_t lane) {
    return (uint64_t)f->local_offset + f->func->local_bytes + f->tops[lane];
}

/* Sets the top of a lane's stack. Returns false after a fault. */
static bool set_top(struct warp_ctx *x, const struct code_inst *i, uint32_t lane, uint64_t top) {
    struct frame *f = x->frame;
    const uint64_t lowest = (uint64_t)f->local_offset + f->func->local_bytes;
    if (top >= lowest && top <= x->local_bytes) {
        f->tops[lane] = (uint32_t)(top - lowest);
        return true;
    }
    warp_fault(&x->w, i, lane, ERR_LAUNCH_FAILED, 0,
               top < lowest ? "the saved stack pointer belongs to another function"
                            : "stack overflow");
    return false;
}

static uint64_t get(const struct warp *w, int32_t slot, uint32_t bytes, uint32_t lane) {
    return bytes == 8 ? SLOT(const uint64_t, w, slot)[lane] : SLOT(const uint32_t, w, slot)[lane];
}

static void put(struct warp *w, const struct code_inst *i, uint32_t lane, uint64_t value) {
    if (i->d_bytes == 8)
        SLOT(uint64_t, w, i->d)[lane] = value;
    else
        SLOT(uint32_t, w, i->d)[lane] = (uint32_t)value;
}

static void run_alloca(struct warp *w, const struct code_inst *i, uint32_t mask) {
    struct warp_ctx *x = (struct warp_ctx *)w;
    const uint64_t align = (uint64_t)i->offset;
    for (uint32_t left = mask; left; left &= left - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(left);
        uint64_t at = (top_of(x->frame, lane) + align - 1) & ~(align - 1);
        uint64_t bytes = get(w, i->a, i->a_bytes, lane);
        if (bytes > x->local_bytes) bytes = x->local_bytes + 1;
        if (!set_top(x, i, lane, at + bytes)) return;
        put(w, i, lane, at);
    }
}

static void run_save(struct warp *w, const struct code_inst *i, uint32_t mask) {
    const struct warp_ctx *x = (const struct warp_ctx *)w;
    for (uint32_t left = mask; left; left &= left - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(left);
        put(w, i, lane, top_of(x->frame, lane));
    }
}

static void run_restore(struct warp *w, const struct code_inst *i, uint32_t mask) {
    struct warp_ctx *x = (struct warp_ctx *)w;
    for (uint32_t left = mask; left; left &= left - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(left);
        if (!set_top(x, i, lane, get(w, i->a, i->a_bytes, lane))) return;
    }
}

code_handler *stack_select(const struct code_inst *i) {
    if (i->op == PTX_OP_alloca) return run_alloca;
    return i->op == PTX_OP_stacksave ? run_save : run_restore;
}
