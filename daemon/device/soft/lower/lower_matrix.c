/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/device/soft/lower/lower_matrix.h"

#include <errno.h>

#include "common/err.h"
#include "daemon/device/soft/code/fragment.h"
#include "daemon/device/soft/instructions/ptx_matrix.h"
#include "daemon/device/soft/isa/dispatch/select.h"
#include "daemon/device/soft/lower/operand.h"
#include "daemon/device/soft/memory/fragments.h"

struct parts {
    struct ptx_matrix matrix;
    struct fragment_tile tile;
    struct code_extra extra;
    struct code_elem elems[]; /* defs, then uses */
};

static uint32_t bytes_of(struct ptx_fragment f) {
    return f.element == PTX_ELEMENT_F64 ? 8 : 4;
}

static int32_t destination(struct lowering *l, const struct ptx_operand *o, uint32_t bytes) {
    if (o->kind == PTX_OPND_NONE) return lowering_temp(l, bytes);
    int32_t slot = operand_source(l, o, bytes, false);
    if (slot < 0) lowering_fail(l, ERR_INVALID_PTX, "a destination must be a register");
    return slot;
}

/* Lowers the registers of a list, or a single one. */
static void registers(struct lowering *l, const struct ptx_operand *o, struct ptx_fragment f,
                      bool written, struct code_elem *elems) {
    bool list = o->kind == PTX_OPND_VEC;
    uint32_t count = list ? o->elem_count : 1, bytes = bytes_of(f);
    if (count != f.regs) lowering_fail(l, ERR_INVALID_PTX, "the fragment has the wrong size");
    for (uint32_t k = 0; k < count && !l->err; k++) {
        const struct ptx_operand *e = list ? &o->elems[k] : o;
        elems[k].slot = written ? destination(l, e, bytes) : operand_source(l, e, bytes, false);
        elems[k].bytes = (uint8_t)bytes;
    }
}

static void def(struct lowering *l, struct parts *p, const struct ptx_operand *o,
                struct ptx_fragment f) {
    registers(l, o, f, true, p->extra.defs);
    p->extra.def_count = f.regs;
}

static void use(struct lowering *l, struct parts *p, const struct ptx_operand *o,
                struct ptx_fragment f) {
    registers(l, o, f, false, p->extra.uses + p->extra.use_count);
    p->extra.use_count += f.regs;
}

/* Adds the metadata after the fragments. c->offset gets the selector, which says which lanes of a
 * group have the metadata. */
static void metadata(struct lowering *l, struct code_inst *c, struct parts *p) {
    const struct ptx_operand *selector = ptx_operand_at(l->inst, 5);
    if (selector->kind != PTX_OPND_IMM || selector->imm > 3)
        return lowering_fail(l, ERR_INVALID_PTX, "the lanes do not exist in a group");
    use(l, p, ptx_operand_at(l->inst, 4), (struct ptx_fragment){PTX_ELEMENT_B16, 1});
    c->offset = (int64_t)(selector->imm % (4u / p->matrix.sparse));
}

/* Adds a scale, its byte and its lane. Two scales, of a and of b, are the last six values read. */
static void scale(struct lowering *l, struct parts *p, uint32_t k) {
    const struct ptx_operand *list = ptx_operand_at(l->inst, k + 1);
    use(l, p, ptx_operand_at(l->inst, k), (struct ptx_fragment){PTX_ELEMENT_B16, 1});
    if (list->kind != PTX_OPND_VEC || list->elem_count != 2)
        return lowering_fail(l, ERR_INVALID_PTX, "the scale selector must be a pair");
    for (uint32_t j = 0; j < 2 && !l->err; j++)
        p->extra.uses[p->extra.use_count++] =
            (struct code_elem){operand_source(l, &list->elems[j], 2, false), 2};
}

static void operands(struct lowering *l, struct code_inst *c, struct parts *p) {
    const struct ptx_matrix *m = &p->matrix;
    bool load = m->verb == PTX_MATRIX_LOAD || m->verb == PTX_MATRIX_LOAD_ROWS;
    switch (m->verb) {
    case PTX_MATRIX_MULTIPLY:
        def(l, p, ptx_operand_at(l->inst, 0), m->d);
        use(l, p, ptx_operand_at(l->inst, 1), m->a);
        use(l, p, ptx_operand_at(l->inst, 2), m->b);
        use(l, p, ptx_operand_at(l->inst, 3), m->c);
        if (m->sparse) metadata(l, c, p);
        if (m->scales) scale(l, p, m->sparse ? 6 : 4);
        if (m->scales) scale(l, p, m->sparse ? 8 : 6);
        return;
    case PTX_MATRIX_TRANSPOSE:
        def(l, p, ptx_operand_at(l->inst, 0), m->d);
        use(l, p, ptx_operand_at(l->inst, 1), m->d);
        return;
    default: break;
    }
    operand_address(l, ptx_operand_at(l->inst, load ? 1 : 0), c);
    if (load)
        def(l, p, ptx_operand_at(l->inst, 0), m->d);
    else
        use(l, p, ptx_operand_at(l->inst, 1), m->d);
    if (l->inst->operand_count == 3) c->b = operand_source(l, ptx_operand_at(l->inst, 2), 4, false);
}

void lower_matrix(struct lowering *l, struct code_inst *c) {
    struct ptx_matrix m;
    char why[8];
    if (!ptx_matrix_find((enum ptx_op)c->op, l->inst->text, &m, why, sizeof(why)))
        return lowering_fail(l, ERR_ILLEGAL_INSTRUCTION, "not supported by the software GPU");
    uint32_t most = (uint32_t)m.a.regs + m.b.regs + m.c.regs + 2u * m.d.regs + 7;
    struct parts *p = arena_calloc(l->arena, 1, sizeof(*p) + most * sizeof(p->elems[0]));
    if (!p) return lowering_fail(l, -ENOMEM, "out of memory");
    p->matrix = m;
    p->extra.matrix = &p->matrix;
    if (m.verb == PTX_MATRIX_LOAD || m.verb == PTX_MATRIX_STORE) p->tile = fragment_tile(&m);
    p->extra.tile = &p->tile;
    p->extra.func = -1;
    p->extra.defs = p->elems;
    p->extra.uses = p->elems + m.d.regs;
    c->extra = &p->extra;
    operands(l, c, p);
    const struct ptx_operand everybody = {.kind = PTX_OPND_IMM, .imm = UINT32_MAX};
    c->e = operand_source(l, &everybody, 4, false);
    if (l->err) return;
    p->extra.together = m.verb == PTX_MATRIX_MULTIPLY ? isa_select_matrix(c) : fragments_select(c);
    if (!p->extra.together)
        lowering_fail(l, ERR_ILLEGAL_INSTRUCTION, "not supported by the software GPU");
}
