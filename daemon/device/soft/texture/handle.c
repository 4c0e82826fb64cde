/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/device/soft/texture/handle.h"

#include "common/err.h"
#include "daemon/device/soft/launch/block_state.h"
#include "daemon/device/soft/memory/mem.h"

__attribute__((no_sanitize("thread"))) static uint64_t content(uint64_t addr) {
    return *(const volatile uint64_t *)(uintptr_t)addr;
}

const struct texture *handle_peek(struct warp_ctx *x, uint32_t lane, uint64_t handle) {
    const struct textures *all = x->block->config->textures;
    const struct texture *t = textures_find(all, handle);
    if (t || handle % 8 || !mem_lane_ok(x, lane, handle, 8, false)) return t;
    return textures_find(all, content(handle));
}

const struct texture *handle_find(struct warp_ctx *x, const struct code_inst *i, uint32_t lane,
                                  uint64_t handle, bool surface) {
    const struct texture *t = handle_peek(x, lane, handle);
    const char *what = NULL;
    if (!t || t->as.surface != surface)
        what = surface ? "the handle names no surface of the client"
                       : "the handle names no texture of the client";
    else if (!mem_owns(x, i, t->lo, t->hi - t->lo))
        what = "the handle's memory was freed";
    if (!what) return t;
    warp_fault(&x->w, i, lane, ERR_ILLEGAL_ADDRESS, handle, what);
    return NULL;
}
