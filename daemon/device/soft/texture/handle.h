/* SPDX-License-Identifier: Apache-2.0
 *
 * What the number names that a kernel gives for a texture or surface: one of the client's, or a
 * variable (.texref, .surfref) that holds the number of one.
 */
#ifndef DAEMON_DEVICE_SOFT_TEXTURE_HANDLE_H
#define DAEMON_DEVICE_SOFT_TEXTURE_HANDLE_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/device/soft/launch/warp.h"
#include "daemon/device/soft/texture/textures.h"

/* NULL when it names none. */
const struct texture *handle_peek(struct warp_ctx *x, uint32_t lane, uint64_t handle);
/* A surface or else a texture, all of whose memory is the client's; NULL after a fault. */
const struct texture *handle_find(struct warp_ctx *x, const struct code_inst *i, uint32_t lane,
                                  uint64_t handle, bool surface);

/* Lanes of `mask` with the same handle as its first one. */
static inline uint32_t handle_group(const uint64_t *handles, uint32_t mask) {
    const uint64_t first = handles[__builtin_ctz(mask)];
    uint32_t same = 0;
    for (uint32_t l = 0; l < WARP_LANES; l++)
        same |= (uint32_t)(handles[l] == first) << l;
    return same & mask;
}

/* A lane's word of one of an instruction's places (code_texture_use); 0 where it has none. */
static inline uint32_t handle_use(const struct warp *w, const struct code_extra *e, uint32_t place,
                                  uint32_t lane) {
    const int32_t slot = e->uses[place].slot;
    return slot == CODE_NO_SLOT ? 0 : SLOT(const uint32_t, w, slot)[lane];
}

#endif
