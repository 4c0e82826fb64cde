/* SPDX-License-Identifier: Apache-2.0
 *
 * tex, tld4, and questions about textures and surfaces. Lanes that name the same texture are looked
 * up together and read one after the other. As traffic counts one element a lane.
 */
#include "daemon/device/soft/code/handlers.h"
#include "daemon/device/soft/exec/cube.h"
#include "daemon/device/soft/exec/handle.h"
#include "daemon/device/soft/exec/sample.h"
#include "daemon/device/soft/exec/sectors.h"
#include "daemon/device/soft/isa/half.h"
#include "proto/cuda_abi.h"

/* ---- where ----------------------------------------------------------------------------------- */

static void floats(const struct warp *w, const struct code_extra *e, uint32_t place, uint32_t lane,
                   float out[3]) {
    for (uint32_t k = 0; k < 3; k++)
        out[k] = half_float_of_bits(handle_use(w, e, place + k, lane));
}

/* The first face of the cube that `layer` names. */
static uint32_t first_face(const struct texture *t, uint32_t layer) {
    const uint32_t cubes = t->as.levels[0].depth / CUBE_FACES;
    return (layer < cubes ? layer : cubes ? cubes - 1 : 0) * CUBE_FACES;
}

static void set_level(struct sample *s, const struct warp *w, const struct code_extra *e,
                      const struct texture *t, uint32_t lane, const float direction[3]) {
    const struct ptx_texture *f = e->texture;
    const uint32_t bits = handle_use(w, e, CODE_TEXTURE_LEVEL, lane);
    float dx[3], dy[3];
    s->biased = f->lod != PTX_LOD_BASE && !s->whole;
    if (f->lod == PTX_LOD_LEVEL)
        s->level = s->whole ? (float)(int32_t)bits : half_float_of_bits(bits);
    if (f->lod != PTX_LOD_GRAD) return;
    floats(w, e, CODE_TEXTURE_GRAD, lane, dx);
    floats(w, e, CODE_TEXTURE_GRAD + 3, lane, dy);
    if (s->cube) {
        float on_x[3] = {0}, on_y[3] = {0};
        cube_derivative(direction, dx, on_x);
        cube_derivative(direction, dy, on_y);
        s->level = sample_level(t, 2, on_x, on_y);
    } else {
        s->level = sample_level(t, s->dims, dx, dy);
    }
}

static struct sample sample_of(const struct warp *w, const struct code_extra *e,
                               const struct texture *t, uint32_t lane) {
    const struct ptx_texture *f = e->texture;
    const enum ptx_geometry g = (enum ptx_geometry)f->geometry;
    struct sample s = {.whole = f->ctype == PTX_S32,
                       .cube = g == PTX_GEOMETRY_CUBE || g == PTX_GEOMETRY_ACUBE,
                       .slice = handle_use(w, e, CODE_TEXTURE_LAYER, lane)};
    float direction[3];
    s.dims = s.cube ? 2 : ptx_geometry_coords(g) - ptx_geometry_layered(g);
    floats(w, e, CODE_TEXTURE_AT, lane, direction);
    for (uint32_t k = 0; k < s.dims; k++) {
        s.at[k] = direction[k];
        s.element[k] = (int32_t)handle_use(w, e, CODE_TEXTURE_AT + k, lane);
        s.offset[k] = (int32_t)handle_use(w, e, CODE_TEXTURE_OFFSET + k, lane);
    }
    if (s.cube) s.slice = first_face(t, s.slice) + cube_face(direction, s.at);
    set_level(&s, w, e, t, lane, direction);
    return s;
}

/* ---- what ------------------------------------------------------------------------------------ */

static uint16_t half_of(uint32_t bits) {
    return half_to_f16((double)half_float_of_bits(bits));
}

static void put_words(struct warp *w, const struct code_extra *e, uint32_t lane,
                      const uint32_t words[4]) {
    const bool packed = e->texture->type == PTX_F16X2, half = e->texture->type == PTX_F16;
    for (uint32_t k = 0; k < e->def_count; k++) {
        const int32_t slot = e->defs[k].slot;
        if (slot == CODE_NO_SLOT) continue;
        if (half)
            SLOT(uint16_t, w, slot)[lane] = half_of(words[k]);
        else if (packed)
            SLOT(uint32_t, w, slot)
        [lane] = half_of(words[2 * k]) | (uint32_t)half_of(words[2 * k + 1]) << 16;
        else SLOT(uint32_t, w, slot)[lane] = words[k];
    }
}

static uint64_t run_lane(struct warp *w, const struct code_inst *i, const struct texture *t,
                         uint32_t lane) {
    const struct code_extra *e = i->extra;
    const struct sample s = sample_of(w, e, t, lane);
    uint32_t words[4];
    uint64_t at = e->texture->verb == PTX_TEXTURE_GATHER
                      ? sample_gather(t, &s, e->texture->component, words)
                      : sample_fetch(t, &s, words);
    put_words(w, e, lane, words);
    return at;
}

/* All of it is there (`|p`). */
static void run_fetch(struct warp *w, const struct code_inst *i, uint32_t mask) {
    struct warp_ctx *x = (struct warp_ctx *)w;
    uint64_t handles[WARP_LANES], at[WARP_LANES] __attribute__((aligned(64)));
    uint32_t touched = 0;
    for (uint32_t l = 0; l < WARP_LANES; l++)
        handles[l] = SLOT(const uint64_t, w, i->a)[l];
    for (uint32_t left = mask, group; left; left &= ~group) {
        group = handle_group(handles, left);
        const uint32_t first = (uint32_t)__builtin_ctz(group);
        const struct texture *t = handle_find(x, i, first, handles[first], false);
        if (!t) return;
        for (uint32_t lanes = group; lanes; lanes &= lanes - 1) {
            const uint32_t lane = (uint32_t)__builtin_ctz(lanes);
            at[lane] = run_lane(w, i, t, lane);
            touched |= (uint32_t)(at[lane] != 0) << lane;
        }
    }
    if (i->d2 != CODE_NO_SLOT) *SLOT(uint32_t, w, i->d2) |= mask;
    if (touched) x->sectors += sectors_count(at, touched);
}

/* ---- questions ------------------------------------------------------------------------------- */

/* The numbers of OpenCL, to which PTX refers. */
static uint32_t data_type(const struct texture *t) {
    const uint32_t bytes = t->element_bytes / t->as.channels, size = bytes == 4 ? 2 : bytes - 1;
    switch (t->kind) {
    case TEXEL_SNORM: return 0x10d0 + size;
    case TEXEL_SRGB:
    case TEXEL_UNORM: return 0x10d2 + size;
    case TEXEL_SINT: return 0x10d7 + size;
    case TEXEL_UINT: return 0x10da + size;
    default: return t->kind == TEXEL_HALF ? 0x10dd : 0x10de;
    }
}

static uint32_t order_of(const struct texture *t) {
    return t->as.channels == 1 ? 0x10b0 : t->as.channels == 2 ? 0x10b2 : 0x10b5;
}

/* PTX: wrap, mirror, clamp_ogl, clamp_to_edge, clamp_to_border. */
static uint32_t mode_of(uint8_t mode) {
    static const uint8_t names[] = {[CU_TR_ADDRESS_MODE_WRAP] = 0,
                                    [CU_TR_ADDRESS_MODE_MIRROR] = 1,
                                    [CU_TR_ADDRESS_MODE_CLAMP] = 3,
                                    [CU_TR_ADDRESS_MODE_BORDER] = 4};
    return names[mode];
}

static uint32_t answer(const struct texture *t, uint8_t query, uint32_t level) {
    const uint32_t last = t->as.level_count - 1u;
    const struct dev_texture_level *l = &t->as.levels[level < last ? level : last];
    switch (query) {
    case PTX_QUERY_WIDTH: return l->width;
    case PTX_QUERY_HEIGHT: return l->height;
    case PTX_QUERY_DEPTH: return t->as.layered ? 1 : l->depth;
    case PTX_QUERY_ARRAY_SIZE: return t->as.layered ? l->depth : 1;
    case PTX_QUERY_CHANNEL_DATA_TYPE: return data_type(t);
    case PTX_QUERY_CHANNEL_ORDER: return order_of(t);
    case PTX_QUERY_NORMALIZED_COORDS: return t->as.normalized_coords;
    case PTX_QUERY_FORCE_UNNORMALIZED_COORDS: return !t->as.normalized_coords;
    case PTX_QUERY_NUM_MIPMAP_LEVELS: return t->as.level_count;
    case PTX_QUERY_NUM_SAMPLES: return 1;
    case PTX_QUERY_FILTER_MODE: return t->as.filter;
    case PTX_QUERY_ADDR_MODE_0:
    case PTX_QUERY_ADDR_MODE_1:
    case PTX_QUERY_ADDR_MODE_2: return mode_of(t->as.address_mode[query - PTX_QUERY_ADDR_MODE_0]);
    default: return 0; /* MEMORY_LAYOUT: not one that programs may know */
    }
}

static void run_query(struct warp *w, const struct code_inst *i, uint32_t mask) {
    const struct code_extra *e = i->extra;
    for (uint32_t left = mask; left; left &= left - 1) {
        const uint32_t lane = (uint32_t)__builtin_ctz(left);
        const struct texture *t =
            handle_find((struct warp_ctx *)w, i, lane, SLOT(const uint64_t, w, i->a)[lane],
                        e->texture->surface);
        if (!t) return;
        SLOT(uint32_t, w, i->d)
        [lane] = answer(t, e->texture->query, handle_use(w, e, CODE_TEXTURE_LEVEL, lane));
    }
}

static void run_type(struct warp *w, const struct code_inst *i, uint32_t mask) {
    const uint8_t object = ((const struct code_extra *)i->extra)->texture->object;
    uint32_t yes = 0, *d = SLOT(uint32_t, w, i->d);
    for (uint32_t left = mask; left; left &= left - 1) {
        const uint32_t lane = (uint32_t)__builtin_ctz(left);
        const struct texture *t =
            handle_peek((struct warp_ctx *)w, lane, SLOT(const uint64_t, w, i->a)[lane]);
        const uint8_t kind = !t              ? PTX_OPAQUE_NONE
                             : t->as.surface ? PTX_OPAQUE_SURFREF
                                             : PTX_OPAQUE_TEXREF;
        yes |= (uint32_t)(kind == object) << lane;
    }
    *d = (*d & ~mask) | yes;
}

code_handler *fetch_select(const struct ptx_texture *form) {
    switch (form->verb) {
    case PTX_TEXTURE_FETCH:
    case PTX_TEXTURE_GATHER: return run_fetch;
    case PTX_TEXTURE_QUERY: return run_query;
    case PTX_TEXTURE_TYPE: return run_type;
    default: return NULL;
    }
}
