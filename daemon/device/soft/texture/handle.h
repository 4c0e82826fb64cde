/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the texture or surface for the number that a kernel gives: its handle, or the address of a
 * variable (.texref, .surfref) that holds a handle.
 */
#ifndef DAEMON_DEVICE_SOFT_TEXTURE_HANDLE_H
#define DAEMON_DEVICE_SOFT_TEXTURE_HANDLE_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/device/soft/launch/warp.h"
#include "daemon/device/soft/texture/textures.h"

/* Returns NULL if the number names none. */
const struct texture *handle_peek(struct warp_ctx *x, uint32_t lane, uint64_t handle);
/* Finds a surface or a texture whose whole memory belongs to the client. Returns NULL after a
 * fault. */
const struct texture *handle_find(struct warp_ctx *x, const struct code_inst *i, uint32_t lane,
                                  uint64_t handle, bool surface);

/* Lanes of `mask` with the same handle as the first lane of `mask`. */
static inline uint32_t handle_group(const uint64_t *handles, uint32_t mask) {
    const uint64_t first = handles[__builtin_ctz(mask)];
    uint32_t same = 0;
    for (uint32_t l = 0; l < WARP_LANES; l++)
        same |= (uint32_t)(handles[l] == first) << l;
    return same & mask;
}

/* A lane's word at one of an instruction's fixed positions (code_texture_use), or 0 if the
 * instruction lacks it. */
static inline uint32_t handle_use(const struct warp *w, const struct code_extra *e, uint32_t place,
                                  uint32_t lane) {
    const int32_t slot = e->uses[place].slot;
    return slot == CODE_NO_SLOT ? 0 : SLOT(const uint32_t, w, slot)[lane];
}

#endif
