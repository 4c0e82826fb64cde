/* SPDX-License-Identifier: Apache-2.0
 *
 * Textures and surfaces of a client, by handle. The worker's thread adds and removes them; any
 * thread that runs the client's kernels finds them. A kernel may pass any number as a handle. A
 * texture never changes, and is freed only while no work of the client runs.
 */
#ifndef DAEMON_DEVICE_SOFT_TEXTURE_TEXTURES_H
#define DAEMON_DEVICE_SOFT_TEXTURE_TEXTURES_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/device/device.h"
#include "daemon/device/device_textures.h"

struct textures;

/* Interpretation of an element's channels. */
enum texel_kind {
    TEXEL_UINT,
    TEXEL_SINT,
    /* Kinds that are numbers, which can be filtered: */
    TEXEL_UNORM,
    TEXEL_SNORM,
    TEXEL_SRGB, /* 8 bits; the fourth channel is UNORM */
    TEXEL_HALF,
    TEXEL_FLOAT,
};

struct texture {
    uint64_t lo, hi; /* bounds of its memory */
    uint32_t element_bytes;
    uint8_t kind; /* enum texel_kind */
    /* Levels after the last are removed; modes without meaning are replaced. */
    struct dev_texture as;
};

static inline bool texture_is_number(const struct texture *t) {
    return t->kind >= TEXEL_UNORM;
}

struct textures *textures_create(void);
void textures_destroy(struct textures *s);
/* As texture_add in device_textures.h. Returns 0, -EEXIST or -ENOMEM. */
int textures_add(struct textures *s, const struct dev_texture *d);
void textures_remove(struct textures *s, uint64_t handle);
/* Returns NULL if there is none; `s` may be NULL. */
const struct texture *textures_find(const struct textures *s, uint64_t handle);

#endif
