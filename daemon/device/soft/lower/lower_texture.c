/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/device/soft/lower/lower_texture.h"

#include <errno.h>

#include "common/err.h"
#include "daemon/device/soft/instructions/ptx_tables.h"
#include "daemon/device/soft/isa/dispatch/select.h"
#include "daemon/device/soft/lower/operand.h"
#include "daemon/device/soft/texture/surface.h"

#define DEFS 4

struct parts {
    struct ptx_texture form;
    struct code_extra extra;
    struct code_elem defs[DEFS], uses[CODE_TEXTURE_USES];
};

/* Element `k` of a vector, or the operand itself. */
static const struct ptx_operand *element(const struct ptx_operand *o, uint32_t k) {
    return o->kind == PTX_OPND_VEC ? &o->elems[k] : o;
}

/* Bytes of a lane: the register's if the operand is one, else `bytes`. */
static uint32_t lane_bytes(struct lowering *l, const struct ptx_operand *o, uint32_t bytes) {
    uint32_t have = operand_reg_bytes(l, o);
    if (have > sizeof(uint64_t))
        lowering_fail(l, ERR_ILLEGAL_INSTRUCTION, "values of 128 bits are not supported here");
    return have ? have : bytes;
}

static void use(struct lowering *l, struct parts *p, uint32_t place, const struct ptx_operand *o,
                uint32_t bytes, bool wider) {
    p->uses[place].slot = operand_source(l, o, bytes, wider);
    p->uses[place].bytes = (uint8_t)lane_bytes(l, o, bytes);
}

/* Lowers [handle, {coordinates}]. */
static void place(struct lowering *l, struct code_inst *c, struct parts *p,
                  const struct ptx_operand *o) {
    const struct ptx_operand handle = {.kind = PTX_OPND_ADDR, .reg = o->reg, .var = o->var};
    c->a = operand_address_value(l, &handle);
    c->a_bytes = 8;
    c->target = (int32_t)(l->accesses++ % CODE_WINDOWS << 8);
    if (o->var && o->var->space != PTX_GLOBAL)
        lowering_fail(l, ERR_ILLEGAL_INSTRUCTION,
                      "a reference that is a parameter is not supported");
    if (o->elem_count > 1)
        return lowering_fail(l, ERR_ILLEGAL_INSTRUCTION, "a sampler of its own is not supported");
    if (!o->elem_count) return;
    enum ptx_geometry g = (enum ptx_geometry)p->form.geometry;
    uint32_t n = ptx_geometry_coords(g), layered = ptx_geometry_layered(g);
    for (uint32_t k = 0; k < n; k++)
        use(l, p, layered && !k ? CODE_TEXTURE_LAYER : CODE_TEXTURE_AT + k - layered,
            element(&o->elems[0], k), 4, false);
}

/* Adds `count` elements of an operand. */
static void several(struct lowering *l, struct parts *p, uint32_t first,
                    const struct ptx_operand *o, uint32_t count) {
    for (uint32_t k = 0; k < count; k++)
        use(l, p, first + k, element(o, k), 4, false);
}

static void result(struct lowering *l, struct code_inst *c, struct parts *p,
                   const struct ptx_operand *o) {
    uint32_t bytes = operand_lane_bytes(p->form.type);
    if (o->kind == PTX_OPND_VEC && o->elem_count == 2 && o->elems[0].kind == PTX_OPND_VEC) {
        if (o->elems[1].kind != PTX_OPND_NONE) c->d2 = operand_dest(l, &o->elems[1]);
        o = &o->elems[0];
    }
    p->extra.def_count = p->form.elements;
    for (uint32_t k = 0; k < p->form.elements && !l->err; k++) {
        const struct ptx_operand *e = element(o, k);
        bool sink = e->kind == PTX_OPND_NONE;
        p->defs[k].slot = sink ? CODE_NO_SLOT : operand_source(l, e, bytes, true);
        p->defs[k].bytes = (uint8_t)lane_bytes(l, e, bytes);
    }
}

/* Adds the operands after the coordinates and the level: an offset, and a reference for depth
 * comparison. */
static void more(struct lowering *l, struct parts *p, uint32_t at, uint32_t dims) {
    const struct ptx_operand *o = ptx_operand_at(l->inst, at);
    bool offset = o->kind == PTX_OPND_VEC;
    if (o->kind == PTX_OPND_REG)
        offset = ptx_type_class(l->func->regs[o->reg].type) != 'f' && dims == 1;
    if (o->kind == PTX_OPND_IMM) offset = !o->imm_float_bytes && dims == 1;
    if (offset) several(l, p, CODE_TEXTURE_OFFSET, o, dims);
    if (ptx_operand_at(l->inst, at + offset)->kind != PTX_OPND_NONE)
        lowering_fail(l, ERR_ILLEGAL_INSTRUCTION, "comparison of depths is not supported");
}

static void fetch(struct lowering *l, struct code_inst *c, struct parts *p) {
    const struct ptx_texture *f = &p->form;
    enum ptx_geometry g = (enum ptx_geometry)f->geometry;
    uint32_t dims = ptx_geometry_coords(g) - ptx_geometry_layered(g), at = 2;
    result(l, c, p, ptx_operand_at(l->inst, 0));
    place(l, c, p, ptx_operand_at(l->inst, 1));
    if (f->lod == PTX_LOD_LEVEL)
        use(l, p, CODE_TEXTURE_LEVEL, ptx_operand_at(l->inst, at++), 4, false);
    if (f->lod == PTX_LOD_GRAD) {
        several(l, p, CODE_TEXTURE_GRAD, ptx_operand_at(l->inst, at++), dims);
        several(l, p, CODE_TEXTURE_GRAD + 3, ptx_operand_at(l->inst, at++), dims);
    }
    more(l, p, at, dims);
}

static void operands(struct lowering *l, struct code_inst *c, struct parts *p) {
    const struct ptx_texture *f = &p->form;
    uint32_t bytes = operand_lane_bytes(f->type);
    switch (f->verb) {
    case PTX_TEXTURE_FETCH:
    case PTX_TEXTURE_GATHER: fetch(l, c, p); return;
    case PTX_TEXTURE_QUERY:
        c->d = operand_source(l, ptx_operand_at(l->inst, 0), 4, false);
        place(l, c, p, ptx_operand_at(l->inst, 1));
        if (f->lod == PTX_LOD_LEVEL)
            use(l, p, CODE_TEXTURE_LEVEL, ptx_operand_at(l->inst, 2), 4, false);
        return;
    case PTX_TEXTURE_LOAD:
        result(l, c, p, ptx_operand_at(l->inst, 0));
        place(l, c, p, ptx_operand_at(l->inst, 1));
        return;
    case PTX_TEXTURE_STORE:
    case PTX_TEXTURE_REDUCE:
        place(l, c, p, ptx_operand_at(l->inst, 0));
        for (uint32_t k = 0; k < f->elements; k++)
            use(l, p, CODE_TEXTURE_VALUE + k, element(ptx_operand_at(l->inst, 1), k), bytes, true);
        return;
    default:
        c->d = operand_source(l, ptx_operand_at(l->inst, 0), LOWERING_PRED, false);
        c->a = operand_source(l, ptx_operand_at(l->inst, 1), 8, false);
        return;
    }
}

void lower_texture(struct lowering *l, struct code_inst *c) {
    char why[8];
    struct parts *p = arena_calloc(l->arena, 1, sizeof(*p));
    if (!p) return lowering_fail(l, -ENOMEM, "out of memory");
    ptx_texture_find((enum ptx_op)c->op, l->inst->text, &p->form, why, sizeof(why));
    for (uint32_t k = 0; k < CODE_TEXTURE_USES; k++)
        p->uses[k].slot = CODE_NO_SLOT;
    p->extra.texture = &p->form;
    p->extra.func = -1;
    p->extra.defs = p->defs;
    p->extra.uses = p->uses;
    p->extra.use_count = CODE_TEXTURE_USES;
    c->extra = &p->extra;
    operands(l, c, p);
    c->run = isa_select_fetch(&p->form);
    if (!c->run) c->run = surface_select(&p->form);
}
