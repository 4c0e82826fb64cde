/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/device/soft/runtime/native_call.h"

#include <string.h>

#include "common/err.h"
#include "daemon/device/soft/memory/mem.h"

void native_bytes(struct warp_ctx *x, const struct code_inst *i, uint32_t lane, uint32_t k,
                  void *out, uint32_t bytes) {
    const struct code_extra *c = i->extra;
    memset(out, 0, bytes);
    if (k >= c->arg_count) return;
    const struct code_arg *arg = &c->args[k];
    const unsigned char *from;
    if (arg->in_slot) {
        if (!arg->elem.bytes) return;
        from = SLOT(unsigned char, &x->w, arg->elem.slot) + lane * arg->elem.bytes;
    } else {
        from = warp_local(x, x->frame, lane, arg->offset);
    }
    memcpy(out, from, arg->bytes < bytes ? arg->bytes : bytes);
}

uint64_t native_argument(struct warp_ctx *x, const struct code_inst *i, uint32_t lane, uint32_t k) {
    uint64_t v;
    native_bytes(x, i, lane, k, &v, sizeof(v));
    return v;
}

void native_result(struct warp_ctx *x, const struct code_inst *i, uint32_t lane, uint64_t v) {
    const struct code_extra *c = i->extra;
    if (!c->ret_count) return;
    const struct code_arg *ret = &c->rets[0];
    if (!ret->in_slot) {
        memcpy(warp_local(x, x->frame, lane, ret->offset), &v, ret->bytes < 8 ? ret->bytes : 8);
    } else if (ret->elem.slot != CODE_NO_SLOT && ret->elem.bytes) {
        memcpy(SLOT(unsigned char, &x->w, ret->elem.slot) + lane * ret->elem.bytes, &v,
               ret->elem.bytes < 8 ? ret->elem.bytes : 8);
    }
}

static bool may_touch(struct warp_ctx *x, const struct code_inst *i, uint32_t lane, uint64_t addr,
                      uint32_t bytes, bool write) {
    if (mem_lane_ok(x, lane, addr, bytes, write)) return true;
    warp_fault(&x->w, i, lane, ERR_ILLEGAL_ADDRESS, addr, NULL);
    return false;
}

bool native_read(struct warp_ctx *x, const struct code_inst *i, uint32_t lane, uint64_t addr,
                 void *out, uint32_t bytes) {
    if (!may_touch(x, i, lane, addr, bytes, false)) return false;
    memcpy(out, (const void *)(uintptr_t)addr, bytes);
    return true;
}

bool native_write(struct warp_ctx *x, const struct code_inst *i, uint32_t lane, uint64_t addr,
                  const void *from, uint32_t bytes) {
    if (!may_touch(x, i, lane, addr, bytes, true)) return false;
    memcpy((void *)(uintptr_t)addr, from, bytes);
    return true;
}
