/* SPDX-License-Identifier: Apache-2.0
 *
 * Textures and surfaces of a client, by handle. One thread adds and removes them (the worker's),
 * any thread that runs kernels of the client finds them; what a kernel may name is any number. A
 * texture never changes, and is freed only while nothing of the client runs.
 */
#ifndef DAEMON_DEVICE_SOFT_TEXTURE_TEXTURES_H
#define DAEMON_DEVICE_SOFT_TEXTURE_TEXTURES_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/device/device.h"
#include "daemon/device/device_textures.h"

struct textures;

/* How an element's channels are read. */
enum texel_kind {
    TEXEL_UINT,
    TEXEL_SINT,
    /* Numbers, which can be filtered: */
    TEXEL_UNORM,
    TEXEL_SNORM,
    TEXEL_SRGB, /* 8 bits; the fourth channel is UNORM */
    TEXEL_HALF,
    TEXEL_FLOAT,
};

struct texture {
    uint64_t lo, hi; /* all that it may touch */
    uint32_t element_bytes;
    uint8_t kind;          /* enum texel_kind */
    struct dev_texture as; /* cut off behind its last level; modes that mean nothing are replaced */
};

static inline bool texture_is_number(const struct texture *t) {
    return t->kind >= TEXEL_UNORM;
}

struct textures *textures_create(void);
void textures_destroy(struct textures *s);
/* As texture_add of device.h. */
int textures_add(struct textures *s, const struct dev_texture *d);
void textures_remove(struct textures *s, uint64_t handle);
/* NULL when there is none; `s` may be NULL. */
const struct texture *textures_find(const struct textures *s, uint64_t handle);

#endif
