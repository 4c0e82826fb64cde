/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/worker/front/texture_record.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/err.h"
#include "daemon/device/device_arrays.h"
#include "daemon/device/device_textures.h"
#include "daemon/worker/client.h"
#include "daemon/worker/faults/fault.h"
#include "daemon/worker/page/reply.h"
#include "daemon/worker/requests/deferred_request.h"
#include "daemon/worker/requests/device_array.h"
#include "proto/cuda/array_layout.h"
#include "proto/wire/record.h"

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

struct dev_texture texture_record_describe(const struct wire_texture *w) {
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
        .base = w->addr,
        .of_array = !(w->flags & (WIRE_TEXTURE_LINEAR | WIRE_TEXTURE_PITCHED)),
        .first_level = w->first_level,
        .first_layer = w->first_layer,
        .anisotropy = w->anisotropy,
    };
    struct array_element e;
    array_layout_element((CUarray_format)w->format, w->channels, &e);
    t.element_bytes = (uint8_t)e.bytes;
    memcpy(t.address_mode, w->address_mode, sizeof(t.address_mode));
    memcpy(t.border, w->border, sizeof(t.border));
    for (uint32_t k = 0; k < w->levels; k++)
        t.levels[k] = level_of(w, w->first_level + k);
    return t;
}

struct dev_array texture_record_describe_array(const struct wire_array *w) {
    struct array_shape shape;
    struct array_element e;
    record_array_shape(w, &shape);
    array_layout_element((CUarray_format)w->format, w->channels, &e);
    struct dev_array a = {.addr = w->addr,
                          .width = w->width,
                          .height = w->height,
                          .depth = w->depth,
                          .format = w->format,
                          .channels = w->channels,
                          .flags = w->flags,
                          .element_bytes = e.bytes,
                          .mipmapped = w->levels > 0,
                          .normalized = e.normalized,
                          .level_count = record_array_levels(w)};
    for (uint32_t k = 0; k < a.level_count; k++) {
        struct array_level l;
        array_layout_level(&shape, k, &l);
        a.levels[k] = (struct dev_texture_level){.addr = w->addr + l.offset,
                                                 .pitch = l.pitch,
                                                 .slice = l.slice,
                                                 .width = l.width,
                                                 .height = l.height,
                                                 .depth = l.depth};
    }
    a.bytes = array_layout_bytes(&shape, a.level_count);
    a.charge_bytes = array_layout_charge(a.bytes);
    return a;
}

static int out_of_memory(char *why, size_t why_bytes) {
    snprintf(why, why_bytes, "out of memory");
    return ERR_PROTOCOL;
}

/* Defers the record where textures are the device's own. The deferred request answers it. */
static int add_later(struct client *c, const struct wire_texture *w, char *why, size_t why_bytes) {
    const struct device_array_texture ask = {.rec = w->rec, .texture = texture_record_describe(w)};
    return deferred_request_texture(c, &ask) ? out_of_memory(why, why_bytes) : 0;
}

/* True when the range lies in the persistent half of the client's device window. */
static bool in_alloc(const struct client *c, uint64_t addr, uint64_t bytes) {
    const struct wire_windows *win = &c->windows;
    uint64_t most = WIRE_EPHEMERAL_OFFSET(win->alloc_bytes);
    return addr >= win->dev_base && bytes <= most && addr - win->dev_base <= most - bytes;
}

int texture_record_array(struct client *c, const void *rec, char *why, size_t why_bytes) {
    const struct wire_array *w = rec;
    if (!c->worker->ops->arrays) {
        snprintf(why, why_bytes, "the device does not support arrays");
        return ERR_PROTOCOL;
    }
    const struct device_array_make ask = {.rec = w->rec, .array = texture_record_describe_array(w)};
    if (!in_alloc(c, w->addr, ask.array.bytes)) {
        snprintf(why, why_bytes, "the array at 0x%" PRIx64 " is outside the client's window",
                 w->addr);
        return ERR_PROTOCOL;
    }
    return deferred_request_array(c, &ask) ? out_of_memory(why, why_bytes) : 0;
}

int texture_record_array_drop(struct client *c, const void *rec, char *why, size_t why_bytes) {
    if (!c->worker->ops->arrays) {
        snprintf(why, why_bytes, "the device does not support arrays");
        return ERR_PROTOCOL;
    }
    return deferred_request_array_drop(c, rec) ? out_of_memory(why, why_bytes) : 0;
}

/* A dead client's kernels run no more, so its texture is not made. */
int texture_record_add(struct client *c, const void *rec, char *why, size_t why_bytes) {
    const struct wire_texture *w = rec;
    const struct dev_ops *ops = c->worker->ops;
    if (client_dead(c)) {
        reply_status(&c->com, &w->rec, c->com.fault);
        return 0;
    }
    if (!client_owns(c, w->addr, record_texture_bytes(w))) {
        snprintf(why, why_bytes, "the texture's address 0x%" PRIx64 " is not the client's memory",
                 w->addr);
        return ERR_PROTOCOL;
    }
    if (!ops->textures) {
        fault_raise(c, -ENOTSUP, "this GPU does not support textures and surfaces");
        reply_status(&c->com, &w->rec, c->com.fault);
        return 0;
    }
    if (ops->arrays) return add_later(c, w, why, why_bytes);
    const struct dev_texture t = texture_record_describe(w);
    uint64_t seen;
    int err = ops->textures->texture_add(c->space, &t, &seen);
    if (!err) {
        reply_send(&c->com, &w->rec, 0, &seen, sizeof(seen));
        return 0;
    }
    snprintf(why, why_bytes, "texture %u: %s", (uint16_t)w->handle,
             err == -EEXIST ? "the number is in use" : err_text(err));
    return ERR_PROTOCOL;
}

int texture_record_reference(struct client *c, const void *rec, char *why, size_t why_bytes) {
    const struct wire_texture_ref *w = rec;
    struct module *m = c->objects.modules[w->module];
    if (client_dead(c)) {
        reply_status(&c->com, &w->texture.rec, c->com.fault);
        return 0;
    }
    if (!c->worker->ops->arrays) {
        snprintf(why, why_bytes, "the device does not support texture references");
        return ERR_PROTOCOL;
    }
    if (!m) {
        snprintf(why, why_bytes, "module %u is not loaded", w->module);
        return ERR_PROTOCOL;
    }
    if (w->bound && !client_owns(c, w->texture.addr, record_texture_bytes(&w->texture))) {
        snprintf(why, why_bytes,
                 "the texture reference's address 0x%" PRIx64 " is not the client's memory",
                 w->texture.addr);
        return ERR_PROTOCOL;
    }
    struct device_array_reference ask = {.rec = w->texture.rec, .module = m, .bound = w->bound};
    if (w->bound) ask.texture = texture_record_describe(&w->texture);
    ask.texture.surface = (w->texture.flags & WIRE_TEXTURE_SURFACE) != 0;
    const char *name = (const char *)(w + 1);
    return deferred_request_reference(c, &ask, name, w->name_bytes) ? out_of_memory(why, why_bytes)
                                                                    : 0;
}

int texture_record_drop(struct client *c, const void *rec, char *why, size_t why_bytes) {
    return deferred_request_texture_drop(c, rec) ? out_of_memory(why, why_bytes) : 0;
}
