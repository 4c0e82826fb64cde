/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks operands against the instruction's signature, and arguments against parameters. An
 * instruction that passes is PTX; whether the software GPU can run it is checked later, for the
 * kernels in use.
 */
#include "daemon/device/soft/ptx/ptx_verify.h"

#include <string.h>

#include "daemon/device/soft/instructions/ptx_tables.h"
#include "daemon/device/soft/ptx/ptx_label.h"
#include "daemon/device/soft/ptx/ptx_parser.h"

struct check {
    struct ptx_parser *p;
    const struct ptx_inst *i;
    const struct ptx_sig *sig; /* NULL: a call */
    uint32_t operand;          /* counted from 1, for messages */
};

static void complain(const struct check *c, const char *what) {
    ptx_fail_at(c->p, c->i->line, "%.60s: operand %u %s", c->i->text, c->operand, what);
}

static const struct ptx_reg *reg_of(const struct check *c, const struct ptx_operand *o) {
    return (const struct ptx_reg *)c->p->regs.items + o->reg;
}

/* ---- kinds of operands ----------------------------------------------------------------------- */

static void check_reg(const struct check *c, const struct ptx_want *want,
                      const struct ptx_operand *o) {
    const struct ptx_reg *r = reg_of(c, o);
    if (!want->regs || !(want->regs >> r->type & 1))
        ptx_fail_at(c->p, c->i->line, "%.60s: operand %u cannot be %.60s, a register of type .%s",
                    c->i->text, c->operand, r->name, ptx_type_name(r->type));
    else if (o->negated && (r->type != PTX_PRED || want->kinds & PTX_WANT_RESULT))
        complain(c, "cannot be negated");
}

static void check_literal(const struct check *c, const struct ptx_want *want,
                          const struct ptx_operand *o) {
    uint32_t kind = o->imm_float_bytes == 4   ? PTX_WANT_FLOAT4
                    : o->imm_float_bytes == 8 ? PTX_WANT_FLOAT8
                                              : PTX_WANT_INT;
    if (want->kinds & PTX_WANT_RESULT)
        complain(c, "is written and cannot be a constant");
    else if (!(want->kinds & kind))
        complain(c, o->imm_float_bytes ? "cannot be a floating-point constant"
                                       : "cannot be an integer constant");
}

/* Checks the width of a special register; narrower types can also read .u32 registers. */
static void check_special(const struct check *c, const struct ptx_want *want,
                          const struct ptx_operand *o) {
    bool fits;
    switch (o->sreg) {
    case PTX_SREG_CLOCK64:
    case PTX_SREG_CURRENT_GRAPH_EXEC:
    case PTX_SREG_GLOBALTIMER: fits = want->bytes == 8; break;
    case PTX_SREG_GRIDID: fits = want->bytes > 1; break;
    case PTX_SREG_IS_EXPLICIT_CLUSTER: fits = want->regs >> PTX_PRED & 1; break;
    default: fits = want->bytes < 8 && !(want->regs >> PTX_PRED & 1); break;
    }
    if (!(want->kinds & PTX_WANT_SPECIAL))
        complain(c, "cannot be a special register");
    else if (!fits && !(c->i->op == PTX_OP_cvt && want->bytes < 8))
        complain(c, "is a special register of another width");
}

static bool is_input(const struct ptx_func *f, const struct ptx_var *v) {
    return v->index < f->param_count && f->params[v->index] == v;
}

/* True if the instruction can access the variable's space. An instruction for a cluster's shared
 * memory may name a variable of the block. */
static bool reaches(const struct check *c, const struct ptx_var *v) {
    return c->i->space == v->space || (c->i->space == PTX_CLUSTER && v->space == PTX_SHARED);
}

static void check_operand(const struct check *c, const struct ptx_want *want,
                          const struct ptx_operand *o);

/* Checks a handle in a 64-bit register or variable, the coordinates after it, and an optional
 * sampler handle between them. */
static void check_object(const struct check *c, const struct ptx_operand *o) {
    const struct ptx_sig *sig = c->sig;
    struct ptx_want handle = {0};
    const struct ptx_operand named = {.kind = PTX_OPND_REG, .reg = o->reg};
    ptx_rules_want(&handle, PTX_U64);
    if (o->offset || (!o->var && o->reg < 0)) return complain(c, "must be a handle");
    if (o->var && o->var->opaque != sig->object)
        return complain(c, "names a variable that is none of this kind");
    if (!o->var) check_reg(c, &handle, &named);
    uint32_t count = sig->coords != 0, behind = o->elem_count;
    if (behind != count && !(sig->coords && behind == 2))
        return complain(c, count ? "needs coordinates" : "takes no coordinates");
    if (!count) return;
    if (behind == 2) check_operand(c, &handle, &o->elems[0]);
    const struct ptx_operand *at = &o->elems[behind - 1];
    bool vector = at->kind == PTX_OPND_VEC;
    uint32_t n = vector ? at->elem_count : 1;
    if (n != sig->coords && !(vector && n == 4))
        return complain(c, "has not as many coordinates as the geometry");
    for (uint32_t k = 0; k < n && !c->p->err; k++)
        check_operand(c, sig->layered && !k ? &sig->layer : &sig->coord,
                      vector ? &at->elems[k] : at);
}

static void check_address(const struct check *c, const struct ptx_want *want,
                          const struct ptx_operand *o) {
    if (!(want->kinds & PTX_WANT_ADDRESS)) return complain(c, "cannot be an address");
    if (c->sig && c->sig->object) return check_object(c, o);
    if (o->elem_count) return complain(c, "takes no coordinates");
    char class = o->reg >= 0 ? ptx_type_class(reg_of(c, o)->type) : 'b';
    if (class && class != 'b' && class != 'u' && class != 's')
        return complain(c, "needs an integer register as address");
    if (!o->var || want->kinds & PTX_WANT_ANY_SPACE) return;
    bool generic = c->i->space == PTX_GENERIC && o->var->space != PTX_PARAM;
    if (!generic && !reaches(c, o->var))
        return complain(c, "names a variable of another state space");
    if (c->i->op == PTX_OP_st && o->var->space == PTX_PARAM && is_input(c->p->func, o->var))
        complain(c, "is a parameter, which cannot be written");
}

static void check_name(const struct check *c, const struct ptx_want *want,
                       const struct ptx_operand *o) {
    if (!(want->kinds & PTX_WANT_NAME))
        complain(c, "cannot be the name of a variable");
    else if (c->i->op == PTX_OP_cvta && !reaches(c, o->var))
        complain(c, "names a variable of another state space");
}

/* Reports a name that is neither register nor variable, and so was taken for a label. */
static void check_label(const struct check *c, const struct ptx_want *want) {
    if (want->kinds & PTX_WANT_LABEL) return;
    const struct ptx_fixup *fix =
        (const struct ptx_fixup *)c->p->fixups.items + c->p->fixups.count - 1;
    ptx_fail_at(c->p, c->i->line, "%.60s: unknown name '%.*s'", c->i->text,
                fix->len > 60 ? 60 : (int)fix->len, fix->text);
}

static void check_pair(const struct check *c, const struct ptx_want *want,
                       const struct ptx_operand *o) {
    static const struct ptx_want predicate = {.regs = 1u << PTX_PRED | 1u << PTX_NONE,
                                              .kinds = PTX_WANT_RESULT | PTX_WANT_SINK,
                                              .bytes = 1};
    struct ptx_want first = *want;
    first.kinds &= (uint16_t) ~(PTX_WANT_PAIR | PTX_WANT_ONLY_PAIR);
    if (!(want->kinds & PTX_WANT_ELEMENTS)) first.kinds |= PTX_WANT_SINK;
    check_operand(c, &first, &o->elems[0]);
    check_operand(c, &predicate, &o->elems[1]);
}

static void check_elements(const struct check *c, const struct ptx_want *want,
                           const struct ptx_operand *o) {
    struct ptx_want element = *want;
    element.kinds &=
        (uint16_t) ~(PTX_WANT_ELEMENTS | PTX_WANT_SINK | PTX_WANT_SINGLE | PTX_WANT_PAIR);
    if (want->kinds & PTX_WANT_RESULT) element.kinds |= PTX_WANT_SINK;
    uint32_t count = want->count ? want->count : c->i->vec;
    if (o->elem_count != count) return complain(c, "has not as many elements as the vector");
    for (uint32_t e = 0; e < o->elem_count; e++)
        check_operand(c, &element, &o->elems[e]);
}

static void check_parts(const struct check *c, const struct ptx_want *want,
                        const struct ptx_operand *o) {
    struct ptx_want part = {.kinds = want->kinds & PTX_WANT_RESULT ? PTX_WANT_RESULT | PTX_WANT_SINK
                                                                   : PTX_WANT_INT};
    uint32_t n = o->elem_count;
    if ((n != 1 && n != 2 && n != 4 && n != 8) || want->bytes % n)
        return complain(c, "has a number of parts that cannot be");
    for (int t = PTX_NONE; t < PTX_PRED; t++) /* later types exist only in instructions */
        if (!t || ptx_type_bytes((enum ptx_type)t) == want->bytes / n) part.regs |= 1u << t;
    for (uint32_t e = 0; e < n; e++)
        check_operand(c, &part, &o->elems[e]);
}

static void check_list(const struct check *c, const struct ptx_want *want,
                       const struct ptx_operand *o) {
    bool vector = want->kinds & PTX_WANT_ELEMENTS;
    bool pair = want->kinds & PTX_WANT_PAIR && o->elem_count == 2;
    if (pair && (!vector || o->elems[0].kind == PTX_OPND_VEC)) return check_pair(c, want, o);
    if (vector) return check_elements(c, want, o);
    bool both = c->operand == 2 && c->i->operands[0].kind == PTX_OPND_VEC;
    if (want->kinds & PTX_WANT_PARTS && !both) return check_parts(c, want, o);
    complain(c, "cannot be a list");
}

static bool is_vector_reg(const struct check *c, const struct ptx_operand *o) {
    return o->kind == PTX_OPND_REG && reg_of(c, o)->type == PTX_NONE;
}

static void check_operand(const struct check *c, const struct ptx_want *want,
                          const struct ptx_operand *o) {
    if (want->kinds & PTX_WANT_ANY) return;
    if (want->kinds & PTX_WANT_ELEMENTS && !(want->kinds & PTX_WANT_SINGLE) &&
        o->kind != PTX_OPND_VEC && !is_vector_reg(c, o) &&
        !(o->kind == PTX_OPND_NONE && want->kinds & PTX_WANT_SINK))
        return complain(c, "must be a vector");
    if (want->kinds & PTX_WANT_ONLY_PAIR && o->kind != PTX_OPND_VEC)
        return complain(c, "must be a pair");
    switch (o->kind) {
    case PTX_OPND_REG: return check_reg(c, want, o);
    case PTX_OPND_IMM: return check_literal(c, want, o);
    case PTX_OPND_SREG: return check_special(c, want, o);
    case PTX_OPND_ADDR: return check_address(c, want, o);
    case PTX_OPND_LABEL: return check_label(c, want);
    case PTX_OPND_VEC: return check_list(c, want, o);
    case PTX_OPND_VAR: return check_name(c, want, o);
    case PTX_OPND_FUNC: /* a function's address is an integer like any other */
        if (want->kinds & PTX_WANT_RESULT || !want->bytes || want->regs >> PTX_PRED & 1)
            complain(c, "cannot be a function");
        return;
    case PTX_OPND_NONE:
        if (!(want->kinds & PTX_WANT_SINK)) complain(c, "cannot be '_'");
        return;
    }
}

void ptx_verify_inst(struct ptx_parser *p, const struct ptx_inst *i, const struct ptx_sig *sig) {
    struct check c = {.p = p, .i = i, .sig = sig};
    if (sig->open) return;
    if (i->operand_count < sig->least || i->operand_count > sig->most)
        return ptx_fail_at(p, i->line, "%.60s: %s operands, %u of %u", i->text,
                           i->operand_count < sig->least ? "too few" : "too many", i->operand_count,
                           i->operand_count < sig->least ? sig->least : sig->most);
    uint32_t absent = sig->most - i->operand_count;
    for (uint32_t k = 0; k < i->operand_count && !p->err; k++) {
        c.operand = k + 1;
        check_operand(&c, &sig->wants[k + (k >= sig->optional ? absent : 0)], &i->operands[k]);
    }
}

/* ---- calls ----------------------------------------------------------------------------------- */

static void check_argument(const struct check *c, const struct ptx_operand *o,
                           const struct ptx_var *formal) {
    uint64_t bytes = formal->bytes;
    if (o->kind == PTX_OPND_VAR && o->var) bytes = o->var->bytes;
    if (o->kind == PTX_OPND_REG && reg_of(c, o)->type) bytes = ptx_type_bytes(reg_of(c, o)->type);
    if (bytes != formal->bytes) complain(c, "has not the size of the parameter");
}

static void check_arguments(struct check *c, const struct ptx_operand *args,
                            struct ptx_var **formals, uint32_t count, const char *what) {
    if (args->elem_count != count)
        return ptx_fail_at(c->p, c->i->line, "%.60s: %u %s, but the function has %u", c->i->text,
                           args->elem_count, what, count);
    for (uint32_t k = 0; k < count && !c->p->err; k++) {
        c->operand = k + 1;
        check_argument(c, &args->elems[k], formals[k]);
    }
}

void ptx_verify_call(struct ptx_parser *p, const struct ptx_inst *i) {
    static const struct ptx_want address = {.regs = 1u << PTX_B32 | 1u << PTX_U32 | 1u << PTX_S32 |
                                                    1u << PTX_B64 | 1u << PTX_U64 | 1u << PTX_S64,
                                            .bytes = 8};
    struct check c = {.p = p, .i = i, .operand = 2};
    if (i->operands[1].kind == PTX_OPND_REG) check_reg(&c, &address, &i->operands[1]);
    const struct ptx_func *f =
        i->operands[1].kind == PTX_OPND_FUNC ? i->operands[1].func : i->proto;
    if (!f || f->unsupported || p->err) return;
    check_arguments(&c, &i->operands[0], f->rets, f->ret_count, "results");
    if (!p->err) check_arguments(&c, &i->operands[2], f->params, f->param_count, "arguments");
}
