/* SPDX-License-Identifier: Apache-2.0
 *
 * tex, tld4, and queries about textures and surfaces. Lanes that name the same texture are read
 * together. A fetch counts as traffic of one element per lane.
 */
#include "daemon/device/soft/isa/texture/fetch.h"

#include <string.h>

#include "daemon/device/device_textures.h"
#include "daemon/device/soft/isa/arithmetic/half.h"
#include "daemon/device/soft/isa/arithmetic/isa.h"
#include "daemon/device/soft/isa/texture/sample.h"
#include "daemon/device/soft/memory/sectors.h"
#include "daemon/device/soft/texture/cube.h"
#include "daemon/device/soft/texture/handle.h"
#include "proto/cuda/cuda_abi.h"

/* ---- positions ------------------------------------------------------------------------------- */

/* The parts of a sample that are computed, not taken from registers. */
struct place {
    uint32_t at[2][WARP_LANES], slice[WARP_LANES];
    float level[WARP_LANES];
};

static void floats(const struct warp *w, const struct code_extra *e, uint32_t place, uint32_t lane,
                   float out[3]) {
    for (uint32_t k = 0; k < 3; k++)
        out[k] = half_float_of_bits(handle_use(w, e, place + k, lane));
}

/* Returns the first face of the cube that `layer` selects. */
static uint32_t first_face(const struct texture *t, uint32_t layer) {
    const uint32_t cubes = t->as.levels[0].depth / CUBE_FACES;
    return (layer < cubes ? layer : cubes ? cubes - 1 : 0) * CUBE_FACES;
}

static void find_faces(struct sample *s, const struct warp *w, const struct code_extra *e,
                       struct place *p) {
    for (uint32_t left = s->lanes; left; left &= left - 1) {
        const uint32_t lane = (uint32_t)__builtin_ctz(left);
        float direction[3], at[2];
        floats(w, e, CODE_TEXTURE_AT, lane, direction);
        p->slice[lane] = first_face(s->texture, s->slice[lane]) + cube_face(direction, at);
        for (uint32_t k = 0; k < 2; k++)
            p->at[k][lane] = half_bits_of_float(at[k]);
    }
    s->at[0] = p->at[0];
    s->at[1] = p->at[1];
    s->slice = p->slice;
}

static float level_of(const struct sample *s, const struct warp *w, const struct code_extra *e,
                      uint32_t lane) {
    float direction[3], dx[3], dy[3], on_x[3] = {0}, on_y[3] = {0};
    floats(w, e, CODE_TEXTURE_GRAD, lane, dx);
    floats(w, e, CODE_TEXTURE_GRAD + 3, lane, dy);
    if (!s->cube) return ISA_FN(sample_level)(s->texture, s->dims, dx, dy);
    floats(w, e, CODE_TEXTURE_AT, lane, direction);
    cube_derivative(direction, dx, on_x);
    cube_derivative(direction, dy, on_y);
    return ISA_FN(sample_level)(s->texture, 2, on_x, on_y);
}

static void find_levels(struct sample *s, const struct warp *w, const struct code_extra *e,
                        struct place *p) {
    const uint8_t lod = e->texture->lod;
    s->biased = lod != PTX_LOD_BASE && !s->whole;
    for (uint32_t left = s->lanes; left; left &= left - 1) {
        const uint32_t lane = (uint32_t)__builtin_ctz(left);
        const uint32_t bits = handle_use(w, e, CODE_TEXTURE_LEVEL, lane);
        if (lod == PTX_LOD_GRAD)
            p->level[lane] = level_of(s, w, e, lane);
        else if (lod == PTX_LOD_LEVEL)
            p->level[lane] = s->whole ? (float)(int32_t)bits : half_float_of_bits(bits);
        else
            p->level[lane] = 0;
    }
    s->level = p->level;
}

static const uint32_t *lanes_of(const struct warp *w, const struct code_extra *e, uint32_t place) {
    static const uint32_t zeros[WARP_LANES];
    const int32_t slot = e->uses[place].slot;
    return slot == CODE_NO_SLOT ? zeros : SLOT(const uint32_t, w, slot);
}

/* Fills the sample for the lanes in s->lanes, which name the same texture. */
static void set_sample(struct sample *s, const struct warp *w, const struct code_extra *e,
                       struct place *p) {
    const struct ptx_texture *f = e->texture;
    const enum ptx_geometry g = (enum ptx_geometry)f->geometry;
    s->whole = f->ctype == PTX_S32;
    s->cube = g == PTX_GEOMETRY_CUBE || g == PTX_GEOMETRY_ACUBE;
    s->dims = s->cube ? 2 : ptx_geometry_coords(g) - ptx_geometry_layered(g);
    for (uint32_t k = 0; k < s->dims; k++) {
        s->at[k] = lanes_of(w, e, CODE_TEXTURE_AT + k);
        s->offset[k] = lanes_of(w, e, CODE_TEXTURE_OFFSET + k);
    }
    s->slice = lanes_of(w, e, CODE_TEXTURE_LAYER);
    if (s->cube) find_faces(s, w, e, p);
    if (s->texture->as.level_count > 1) find_levels(s, w, e, p);
}

/* ---- results --------------------------------------------------------------------------------- */

static uint16_t half_of(uint32_t bits) {
    return half_to_f16((double)half_float_of_bits(bits));
}

static void put_halves(struct warp *w, int32_t slot, uint32_t lanes, const uint32_t *words) {
    for (uint32_t left = lanes; left; left &= left - 1) {
        const uint32_t lane = (uint32_t)__builtin_ctz(left);
        SLOT(uint16_t, w, slot)[lane] = half_of(words[lane]);
    }
}

static void put_pairs(struct warp *w, int32_t slot, uint32_t lanes, const uint32_t *low,
                      const uint32_t *high) {
    for (uint32_t left = lanes; left; left &= left - 1) {
        const uint32_t lane = (uint32_t)__builtin_ctz(left);
        SLOT(uint32_t, w, slot)[lane] = half_of(low[lane]) | (uint32_t)half_of(high[lane]) << 16;
    }
}

static void put_words(struct warp *w, int32_t slot, uint32_t lanes, const uint32_t *words) {
    uint32_t *d = SLOT(uint32_t, w, slot);
    for (uint32_t l = 0; l < WARP_LANES; l++)
        d[l] = lanes >> l & 1 ? words[l] : d[l];
}

static void put(struct warp *w, const struct code_extra *e, uint32_t lanes,
                const struct sampled *out) {
    for (uint32_t k = 0; k < e->def_count; k++) {
        const int32_t slot = e->defs[k].slot;
        if (slot == CODE_NO_SLOT) continue;
        if (e->texture->type == PTX_F16)
            put_halves(w, slot, lanes, out->words[k]);
        else if (e->texture->type == PTX_F16X2)
            put_pairs(w, slot, lanes, out->words[2 * k], out->words[2 * k + 1]);
        else
            put_words(w, slot, lanes, out->words[k]);
    }
}

static void read_together(struct warp_ctx *x, const struct code_inst *i, const struct texture *t,
                          uint32_t lanes) {
    const struct code_extra *e = i->extra;
    struct sample s = {.texture = t, .lanes = lanes};
    struct place place;
    struct sampled out;
    set_sample(&s, &x->w, e, &place);
    if (e->texture->verb == PTX_TEXTURE_GATHER)
        ISA_FN(sample_gather)(&s, e->texture->component, &out);
    else
        ISA_FN(sample_fetch)(&s, &out);
    put(&x->w, e, lanes, &out);
    if (out.touched) x->sectors += sectors_count(out.at, out.touched);
}

/* Runs a fetch. The predicate `|p` is always true: all of the texture is resident. */
static void run_fetch(struct warp *w, const struct code_inst *i, uint32_t mask) {
    struct warp_ctx *x = (struct warp_ctx *)w;
    uint64_t handles[WARP_LANES];
    memcpy(handles, SLOT(const uint64_t, w, i->a), sizeof(handles));
    for (uint32_t left = mask, group; left; left &= ~group) {
        group = handle_group(handles, left);
        const uint32_t first = (uint32_t)__builtin_ctz(group);
        const struct texture *t = handle_find(x, i, first, handles[first], false);
        if (!t) return;
        read_together(x, i, t, group);
    }
    if (i->d2 != CODE_NO_SLOT) *SLOT(uint32_t, w, i->d2) |= mask;
}

/* ---- queries --------------------------------------------------------------------------------- */

/* Data types in OpenCL's numbering, to which PTX refers. */
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

/* Address modes in PTX's numbering: wrap, mirror, clamp_ogl, clamp_to_edge, clamp_to_border. */
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
    default: return 0; /* MEMORY_LAYOUT: programs may not know it */
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

code_handler *ISA_FN(fetch_select)(const struct ptx_texture *form) {
    switch (form->verb) {
    case PTX_TEXTURE_FETCH:
    case PTX_TEXTURE_GATHER: return run_fetch;
    case PTX_TEXTURE_QUERY: return run_query;
    case PTX_TEXTURE_TYPE: return run_type;
    default: return NULL;
    }
}
