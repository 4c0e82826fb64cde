/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls of functions. A call through a pointer uses the handle that kernels hold instead of a code
 * address; lanes with different handles enter their functions one after the other.
 */
#include "daemon/device/soft/exec/call.h"

#include <string.h>

#include "common/err.h"
#include "daemon/device/soft/launch/block_state.h"

/* Copies a lane's argument into the callee's formal parameter, or a result back to the caller. */
static void copy_slot(unsigned char *regs, const unsigned char *consts, const struct code_elem *e,
                      uint32_t lane, unsigned char *memory, uint32_t bytes, bool to_memory) {
    if (e->slot == CODE_NO_SLOT) return;
    struct warp w = {.regs = regs, .consts = consts};
    if (!e->bytes) { /* a predicate as a parameter takes one byte */
        uint32_t *mask = SLOT(uint32_t, &w, e->slot);
        if (to_memory)
            memory[0] = *mask >> lane & 1;
        else
            *mask = (*mask & ~(1u << lane)) | (uint32_t)(memory[0] & 1) << lane;
        return;
    }
    unsigned char *reg = SLOT(unsigned char, &w, e->slot) + lane * e->bytes;
    uint32_t n = bytes < e->bytes ? bytes : e->bytes;
    if (to_memory) {
        memcpy(memory, reg, n);
    } else {
        memset(reg, 0, e->bytes);
        memcpy(reg, memory, n);
    }
}

static void pass_params(struct warp_ctx *x, struct frame *caller, struct frame *callee,
                        uint32_t mask, bool in) {
    const struct code_extra *c = callee->call->extra;
    const struct code_func *f = callee->func;
    const struct code_arg *args = in ? c->args : c->rets;
    const struct code_formal *formals = in ? f->params : f->rets;
    uint32_t have = in ? c->arg_count : c->ret_count, want = in ? f->param_count : f->ret_count;
    for (uint32_t k = 0; k < have && k < want; k++) {
        uint32_t bytes = args[k].bytes < formals[k].bytes ? args[k].bytes : formals[k].bytes;
        for (uint32_t left = mask; left; left &= left - 1) {
            uint32_t lane = (uint32_t)__builtin_ctz(left);
            unsigned char *formal = warp_local(x, callee, lane, formals[k].offset);
            if (args[k].in_slot) {
                copy_slot(caller->regs, caller->func->consts, &args[k].elem, lane, formal,
                          formals[k].bytes, in);
                continue;
            }
            unsigned char *actual = warp_local(x, caller, lane, args[k].offset);
            memcpy(in ? formal : actual, in ? actual : formal, bytes);
        }
    }
}

static bool enter_func(struct warp_ctx *x, const struct code_inst *i, uint32_t mask,
                       const struct code_func *f) {
    struct frame *caller = x->frame;
    struct frame *callee = frame_push(&x->block->frames, f, caller, i, mask);
    if (!callee) {
        warp_fault(&x->w, i, (uint32_t)__builtin_ctz(mask), ERR_LAUNCH_FAILED, 0, "stack overflow");
        return false;
    }
    pass_params(x, caller, callee, mask, true);
    warp_split_add(x, callee, 0, mask, SPLIT_RUN, 0);
    return true;
}

/* Returns the function of a handle that the kernel supplied, or NULL if the handle names no
 * callable function. */
static const struct code_func *look_up(const struct code_kernel *k, uint64_t handle) {
    uint64_t index = code_handle_index(handle);
    if (index >= k->func_count) return NULL;
    const struct code_func *f = k->funcs[index];
    return f && !f->ptx->entry ? f : NULL;
}

bool call_enter(struct warp_ctx *x, const struct code_inst *i, uint32_t mask) {
    const struct code_extra *c = i->extra;
    const struct code_kernel *k = x->block->kernel;
    if (c->func >= 0) {
        const struct code_func *f = k->funcs[c->func];
        if (!f || f->ptx->entry) {
            warp_fault(&x->w, i, (uint32_t)__builtin_ctz(mask), ERR_ILLEGAL_INSTRUCTION, 0,
                       "the function cannot be called");
            return false;
        }
        return enter_func(x, i, mask, f);
    }
    uint64_t handles[WARP_LANES];
    memcpy(handles, SLOT(uint64_t, &x->w, i->a), sizeof(handles));
    while (mask) {
        uint32_t first = (uint32_t)__builtin_ctz(mask), group = 0;
        for (uint32_t left = mask; left; left &= left - 1) {
            uint32_t lane = (uint32_t)__builtin_ctz(left);
            if (handles[lane] == handles[first]) group |= 1u << lane;
        }
        const struct code_func *f = look_up(k, handles[first]);
        if (!f) {
            warp_fault(&x->w, i, first, ERR_ILLEGAL_ADDRESS, handles[first],
                       "the call's pointer is not a function's address");
            return false;
        }
        if (!enter_func(x, i, group, f)) return false;
        mask &= ~group;
    }
    return true;
}

void call_return(struct warp_ctx *x, struct frame *f, uint32_t mask) {
    struct frame *caller = f->parent;
    pass_params(x, caller, f, mask, false);
    int32_t pc = (int32_t)(f->call - caller->func->insts) + 1;
    f->live &= ~mask;
    if (!f->live) frame_free(&x->block->frames, f);
    warp_split_add(x, caller, pc, mask, SPLIT_RUN, 0);
}
