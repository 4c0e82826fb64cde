/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/worker/front/texturing.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/err.h"
#include "daemon/worker/client.h"
#include "daemon/worker/engine/defer.h"
#include "proto/array_layout.h"
#include "proto/record.h"

static struct dev_texture_level level_of(const struct wire_texture *w, uint32_t level) {
    struct array_element e;
    struct array_level l;
    array_layout_element((CUarray_format)w->format, w->channels, &e);
    const struct array_shape shape = {w->width, w->height, w->depth, e.bytes,
                                      w->flags & WIRE_TEXTURE_LAYERED};
    if (w->flags & (WIRE_TEXTURE_LINEAR | WIRE_TEXTURE_PITCHED))
        return (struct dev_texture_level){
            .addr = w->addr, .pitch = w->pitch, .width = w->width, .height = w->height, .depth = 1};
    array_layout_level(&shape, level, &l);
    return (struct dev_texture_level){
        .addr = w->addr + l.offset + w->first_layer * l.slice,
        .pitch = l.pitch,
        .slice = l.slice,
        .width = l.width,
        .height = l.height,
        .depth = w->layers ? w->layers : l.depth,
    };
}

struct dev_texture texturing_describe(const struct wire_texture *w) {
    struct dev_texture t = {
        .handle = w->handle,
        .surface = (w->flags & WIRE_TEXTURE_SURFACE) != 0,
        .format = w->format,
        .channels = w->channels,
        .linear = (w->flags & WIRE_TEXTURE_LINEAR) != 0,
        .layered = (w->flags & WIRE_TEXTURE_LAYERED) != 0,
        .filter = w->filter,
        .level_filter = w->level_filter,
        .normalized_coords = (w->flags & WIRE_TEXTURE_NORMALIZED_COORDS) != 0,
        .normalized_values = (w->flags & WIRE_TEXTURE_NORMALIZED_VALUES) != 0,
        .srgb = (w->flags & WIRE_TEXTURE_SRGB) != 0,
        .seamless = (w->flags & WIRE_TEXTURE_SEAMLESS) != 0,
        .level_count = w->levels,
        .level_bias = w->level_bias,
        .least_level = w->least_level,
        .most_level = w->most_level,
    };
    memcpy(t.address_mode, w->address_mode, sizeof(t.address_mode));
    memcpy(t.border, w->border, sizeof(t.border));
    for (uint32_t k = 0; k < w->levels; k++)
        t.levels[k] = level_of(w, w->first_level + k);
    return t;
}

/* A dead client's kernels run no more. */
int texturing_add(struct client *c, const void *rec, char *why, size_t why_bytes) {
    const struct wire_texture *w = rec;
    const struct dev_ops *ops = c->worker->ops;
    if (client_dead(c)) return 0;
    if (!ops->texture_add) {
        snprintf(why, why_bytes, "a texture, of which this device has none");
        return ERR_PROTOCOL;
    }
    if (!client_owns(c, w->addr, record_texture_bytes(w))) {
        snprintf(why, why_bytes, "a texture at 0x%" PRIx64 ", which is not the client's memory",
                 w->addr);
        return ERR_PROTOCOL;
    }
    const struct dev_texture t = texturing_describe(w);
    int err = ops->texture_add(c->space, &t);
    if (!err) return 0;
    snprintf(why, why_bytes, "texture %u: %s", (uint16_t)w->handle,
             err == -EEXIST ? "its number is in use" : err_text(err));
    return ERR_PROTOCOL;
}

int texturing_drop(struct client *c, const void *rec, char *why, size_t why_bytes) {
    if (!defer_texture_drop(c, rec)) return 0;
    snprintf(why, why_bytes, "out of memory");
    return ERR_PROTOCOL;
}
