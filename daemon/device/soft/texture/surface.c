/* SPDX-License-Identifier: Apache-2.0
 *
 * suld, sust, sured: access elements of a surface as bytes or, with .p, by its format. A lane's
 * access is a single processor move, as everywhere (isa/memory/vector.c).
 */
#include "daemon/device/soft/texture/surface.h"

#include <string.h>

#include "common/atomics.h"
#include "common/err.h"
#include "daemon/device/device_textures.h"
#include "daemon/device/soft/instructions/ptx_tables.h"
#include "daemon/device/soft/isa/arithmetic/half.h"
#include "daemon/device/soft/memory/sectors.h"
#include "daemon/device/soft/texture/handle.h"

#define MOST 16 /* bytes of an access */

typedef uint64_t unit __attribute__((vector_size(MOST), may_alias));

/* ---- bytes ----------------------------------------------------------------------------------- */

__attribute__((no_sanitize("thread"))) static void read_bytes(uint64_t at, uint32_t bytes,
                                                              unit *out) {
    const volatile void *p = (const volatile void *)(uintptr_t)at;
    *out = (unit){0};
    switch (bytes) {
    case 1: (*out)[0] = *(const volatile uint8_t *)p; break;
    case 2: (*out)[0] = *(const volatile uint16_t *)p; break;
    case 4: (*out)[0] = *(const volatile uint32_t *)p; break;
    case 8: (*out)[0] = *(const volatile uint64_t *)p; break;
    default: *out = *(const volatile unit *)p; break;
    }
}

__attribute__((no_sanitize("thread"))) static void write_bytes(uint64_t at, uint32_t bytes,
                                                               const unit *in) {
    volatile void *p = (volatile void *)(uintptr_t)at;
    switch (bytes) {
    case 1: *(volatile uint8_t *)p = (uint8_t)(*in)[0]; break;
    case 2: *(volatile uint16_t *)p = (uint16_t)(*in)[0]; break;
    case 4: *(volatile uint32_t *)p = (uint32_t)(*in)[0]; break;
    case 8: *(volatile uint64_t *)p = (*in)[0]; break;
    default: *(volatile unit *)p = *in; break;
    }
}

/* ---- addresses ------------------------------------------------------------------------------- */

/* Clamps a coordinate into [0, limit] if the instruction says so. Returns false if it is outside
 * and not clamped. */
static bool bring_in(int64_t *v, int64_t limit, uint8_t beyond) {
    if (*v >= 0 && *v <= limit) return true;
    *v = *v < 0 ? 0 : limit;
    return beyond == PTX_BEYOND_CLAMP && limit >= 0;
}

/* Returns the address of a lane's `bytes`. Returns 0 after a fault, or beyond the edges, where
 * nothing is read or written. */
static uint64_t find(struct warp_ctx *x, const struct code_inst *i, const struct texture *t,
                     uint32_t lane, uint32_t bytes) {
    const struct code_extra *e = i->extra;
    const struct ptx_texture *f = e->texture;
    const enum ptx_geometry g = (enum ptx_geometry)f->geometry;
    const struct dev_texture_level *l = &t->as.levels[0];
    const uint32_t dims = ptx_geometry_coords(g) - ptx_geometry_layered(g);
    int64_t at[3] = {0};
    for (uint32_t k = 0; k < dims; k++)
        at[k] = (int32_t)handle_use(&x->w, e, CODE_TEXTURE_AT + k, lane);
    if (ptx_geometry_layered(g)) at[2] = handle_use(&x->w, e, CODE_TEXTURE_LAYER, lane);
    if (f->formatted) at[0] *= t->element_bytes;
    bool in = bring_in(&at[0], (int64_t)l->width * t->element_bytes - bytes, f->beyond);
    in = bring_in(&at[1], (int64_t)l->height - 1, f->beyond) && in;
    in = bring_in(&at[2], (int64_t)l->depth - 1, f->beyond) && in;
    if (!in && f->beyond == PTX_BEYOND_TRAP)
        warp_fault(&x->w, i, lane, ERR_LAUNCH_FAILED, 0, "the coordinates are outside the surface");
    if (!in) return 0;
    const uint64_t addr =
        l->addr + (uint64_t)at[2] * l->slice + (uint64_t)at[1] * l->pitch + (uint64_t)at[0];
    if (!(addr % bytes)) return addr;
    warp_fault(&x->w, i, lane, ERR_MISALIGNED, addr, NULL);
    return 0;
}

/* ---- values ---------------------------------------------------------------------------------- */

static uint32_t access_bytes(const struct ptx_texture *f) {
    return ptx_type_bytes((enum ptx_type)f->type) * f->elements;
}

static void put_elements(struct warp *w, const struct code_extra *e, uint32_t lane,
                         const unit *from) {
    const uint32_t bytes = ptx_type_bytes((enum ptx_type)e->texture->type);
    for (uint32_t k = 0; k < e->def_count; k++) {
        const struct code_elem *d = &e->defs[k];
        uint64_t v = 0;
        memcpy(&v, (const char *)from + k * bytes, bytes);
        if (d->slot == CODE_NO_SLOT) continue;
        if (d->bytes == 2)
            SLOT(uint16_t, w, d->slot)[lane] = (uint16_t)v;
        else if (d->bytes == 4)
            SLOT(uint32_t, w, d->slot)[lane] = (uint32_t)v;
        else
            SLOT(uint64_t, w, d->slot)[lane] = v;
    }
}

static uint64_t value_at(const struct warp *w, const struct code_extra *e, uint32_t k,
                         uint32_t lane) {
    const struct code_elem *u = &e->uses[CODE_TEXTURE_VALUE + k];
    if (u->slot == CODE_NO_SLOT) return 0;
    if (u->bytes == 2) return SLOT(const uint16_t, w, u->slot)[lane];
    if (u->bytes == 4) return SLOT(const uint32_t, w, u->slot)[lane];
    return SLOT(const uint64_t, w, u->slot)[lane];
}

/* Converts a register to a channel of the surface's format; integers are clamped to its range. */
static uint32_t channel_of(const struct texture *t, uint32_t v) {
    const uint32_t bits = 8 * t->element_bytes / t->as.channels;
    if (t->kind == TEXEL_HALF) return half_to_f16((double)half_float_of_bits(v));
    if (bits == 32) return v;
    if (t->kind == TEXEL_UINT) return v < 1u << bits ? v : (1u << bits) - 1;
    const int32_t most = (1 << (bits - 1)) - 1, s = (int32_t)v;
    return (uint32_t)(s > most ? most : s < -most - 1 ? -most - 1 : s);
}

static void formatted(const struct warp *w, const struct code_extra *e, const struct texture *t,
                      uint32_t lane, unit *out) {
    const uint32_t bytes = t->element_bytes / t->as.channels;
    for (uint32_t k = 0; k < t->as.channels; k++) {
        uint32_t v =
            k < e->texture->elements ? channel_of(t, (uint32_t)value_at(w, e, k, lane)) : 0;
        memcpy((char *)out + k * bytes, &v, bytes);
    }
}

static void plain(const struct warp *w, const struct code_extra *e, uint32_t lane, unit *out) {
    const uint32_t bytes = ptx_type_bytes((enum ptx_type)e->texture->type);
    for (uint32_t k = 0; k < e->texture->elements; k++) {
        uint64_t v = value_at(w, e, k, lane);
        memcpy((char *)out + k * bytes, &v, bytes);
    }
}

/* ---- reductions ------------------------------------------------------------------------------ */

static uint64_t reduced(uint8_t sub, bool sign, bool wide, uint64_t old, uint64_t v) {
    bool less = old < v;
    if (sign) less = wide ? (int64_t)old < (int64_t)v : (int32_t)old < (int32_t)v;
    switch (sub) {
    case PTX_SUB_ADD: return old + v;
    case PTX_SUB_MIN: return less ? old : v;
    case PTX_SUB_MAX: return less ? v : old;
    case PTX_SUB_AND: return old & v;
    default: return old | v;
    }
}

static void reduce(const struct ptx_texture *f, const struct texture *t, uint64_t at, uint64_t v) {
    bool sign =
        f->formatted ? t->kind == TEXEL_SINT : ptx_type_class((enum ptx_type)f->type) == 's';
    if (ptx_type_bytes((enum ptx_type)f->type) == 8) {
        _Atomic uint64_t *p = (_Atomic uint64_t *)(uintptr_t)at;
        uint64_t old = atom_load_relaxed(p);
        while (!atom_cas(p, &old, reduced(f->reduction, sign, true, old, v)))
            continue;
    } else {
        _Atomic uint32_t *p = (_Atomic uint32_t *)(uintptr_t)at;
        uint32_t old = atom_load_relaxed(p);
        while (!atom_cas(p, &old, (uint32_t)reduced(f->reduction, sign, false, old, v)))
            continue;
    }
}

/* ---- one lane -------------------------------------------------------------------------------- */

/* Accesses one lane. Returns the address, or 0 if nothing was touched. */
typedef uint64_t lane_fn(struct warp_ctx *x, const struct code_inst *i, const struct texture *t,
                         uint32_t lane);

static uint64_t load_lane(struct warp_ctx *x, const struct code_inst *i, const struct texture *t,
                          uint32_t lane) {
    const struct code_extra *e = i->extra;
    const uint32_t bytes = access_bytes(e->texture);
    const uint64_t at = find(x, i, t, lane, bytes);
    unit v = {0};
    if (at) read_bytes(at, bytes, &v);
    if (!x->stop) put_elements(&x->w, e, lane, &v);
    return at;
}

static uint64_t store_lane(struct warp_ctx *x, const struct code_inst *i, const struct texture *t,
                           uint32_t lane) {
    const struct code_extra *e = i->extra;
    const uint32_t bytes = e->texture->formatted ? t->element_bytes : access_bytes(e->texture);
    const uint64_t at = find(x, i, t, lane, bytes);
    unit v = {0};
    if (e->texture->formatted)
        formatted(&x->w, e, t, lane, &v);
    else
        plain(&x->w, e, lane, &v);
    if (at) write_bytes(at, bytes, &v);
    return at;
}

static uint64_t reduce_lane(struct warp_ctx *x, const struct code_inst *i, const struct texture *t,
                            uint32_t lane) {
    const struct code_extra *e = i->extra;
    const uint64_t at = find(x, i, t, lane, access_bytes(e->texture));
    if (at) reduce(e->texture, t, at, value_at(&x->w, e, 0, lane));
    return at;
}

static void each(struct warp *w, const struct code_inst *i, uint32_t mask, lane_fn *fn) {
    struct warp_ctx *x = (struct warp_ctx *)w;
    uint64_t handles[WARP_LANES], at[WARP_LANES] __attribute__((aligned(64)));
    uint32_t touched = 0;
    for (uint32_t l = 0; l < WARP_LANES; l++)
        handles[l] = SLOT(const uint64_t, w, i->a)[l];
    for (uint32_t left = mask, group; left; left &= ~group) {
        group = handle_group(handles, left);
        const uint32_t first = (uint32_t)__builtin_ctz(group);
        const struct texture *t = handle_find(x, i, first, handles[first], true);
        for (uint32_t lanes = group; t && lanes && !x->stop; lanes &= lanes - 1) {
            const uint32_t lane = (uint32_t)__builtin_ctz(lanes);
            at[lane] = fn(x, i, t, lane);
            touched |= (uint32_t)(at[lane] != 0) << lane;
        }
        if (x->stop) return;
    }
    if (touched) x->sectors += sectors_count(at, touched);
}

static void run_load(struct warp *w, const struct code_inst *i, uint32_t mask) {
    each(w, i, mask, load_lane);
}

static void run_store(struct warp *w, const struct code_inst *i, uint32_t mask) {
    each(w, i, mask, store_lane);
}

static void run_reduce(struct warp *w, const struct code_inst *i, uint32_t mask) {
    each(w, i, mask, reduce_lane);
}

code_handler *surface_select(const struct ptx_texture *form) {
    switch (form->verb) {
    case PTX_TEXTURE_LOAD: return run_load;
    case PTX_TEXTURE_STORE: return run_store;
    case PTX_TEXTURE_REDUCE: return run_reduce;
    default: return NULL;
    }
}
