/* SPDX-License-Identifier: Apache-2.0
 *
 * Parses operands. Names are resolved at once, except labels, which may come later.
 */
#include "daemon/device/soft/ptx/ptx_operand.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/device/soft/instructions/ptx_rules.h"
#include "daemon/device/soft/instructions/ptx_tables.h"
#include "daemon/device/soft/ptx/ptx_label.h"
#include "daemon/device/soft/ptx/ptx_parser.h"
#include "daemon/device/soft/ptx/ptx_reg.h"

static void operand(struct ptx_parser *p, struct ptx_operand *out, uint32_t index, int depth);

static void unknown_name(struct ptx_parser *p, const struct ptx_token *t) {
    ptx_fail_at(p, t->line, "unknown name '%.*s'", t->len > 60 ? 60 : (int)t->len, t->text);
}

static int64_t offset(struct ptx_parser *p) {
    struct ptx_token t;
    if (!ptx_at(p, '+') && !ptx_at(p, '-')) return 0;
    if (!ptx_const(p, &t)) return 0;
    if (t.kind != PTX_TOK_INT) ptx_fail(p, "expected an integer offset");
    return (int64_t)t.value;
}

/* Parses comma-separated operands up to `close`, which is consumed. */
static void list(struct ptx_parser *p, struct ptx_operand *out, char close, int depth) {
    out->kind = PTX_OPND_VEC;
    if (depth > PTX_MAX_DEPTH) return ptx_fail(p, "operand nested too deeply");
    struct ptx_vec v = {0};
    while (!p->err && !ptx_at(p, close)) {
        if (v.count == PTX_MAX_ELEMS) ptx_fail(p, "too many operands");
        struct ptx_operand *e = ptx_push(p, &v, sizeof(*e));
        if (!e) break;
        struct ptx_operand one = {.reg = -1};
        operand(p, &one, UINT32_MAX, depth + 1);
        ((struct ptx_operand *)v.items)[v.count - 1] = one;
        if (!ptx_accept(p, ',')) break;
    }
    ptx_expect(p, close);
    out->elem_count = v.count;
    out->elems = p->err ? NULL : ptx_take(p, &v, sizeof(struct ptx_operand));
    if (!out->elems) out->elem_count = 0;
    free(v.items);
}

void ptx_operand_list(struct ptx_parser *p, struct ptx_operand *out, char close) {
    list(p, out, close, 0);
}

static void immediate(struct ptx_parser *p, struct ptx_operand *out) {
    struct ptx_token t;
    if (!ptx_const(p, &t)) return;
    out->kind = PTX_OPND_IMM;
    out->imm = t.value;
    out->imm_float_bytes = t.kind == PTX_TOK_FLOAT ? t.float_bytes : 0;
}

static bool symbol(struct ptx_parser *p, const struct ptx_token *name, struct ptx_operand *out) {
    const struct ptx_name *e = ptx_lookup(p, name);
    if (!e) return false;
    switch (e->kind) {
    case PTX_NAME_VAR:
        out->kind = PTX_OPND_VAR;
        out->var = e->item;
        return true;
    case PTX_NAME_FUNC:
        out->kind = PTX_OPND_FUNC;
        out->func = e->item;
        return true;
    default: return false;
    }
}

/* Parses [reg], [var], [imm], each with an offset. Textures add coordinates, which become elems. */
static void address(struct ptx_parser *p, struct ptx_operand *out, int depth) {
    ptx_expect(p, '[');
    if (p->tok.kind == PTX_TOK_WORD && !ptx_token_is(&p->tok, "WARP_SZ")) {
        struct ptx_token name = p->tok;
        ptx_next(p);
        out->reg = ptx_reg_find(p, &name);
        if (out->reg < 0 && (!symbol(p, &name, out) || out->kind != PTX_OPND_VAR))
            return unknown_name(p, &name);
        out->offset = offset(p);
    } else {
        immediate(p, out);
        out->offset = (int64_t)out->imm;
    }
    out->kind = PTX_OPND_ADDR;
    if (ptx_accept(p, ','))
        list(p, out, ']', depth + 1);
    else
        ptx_expect(p, ']');
    out->kind = PTX_OPND_ADDR;
}

/* Parses a special register. %tid.x is one name although the scanner sees two words. Also handles
 * %v.x of a vector register. */
static void special(struct ptx_parser *p, const struct ptx_token *name, struct ptx_operand *out) {
    char text[64];
    size_t len = name->len;
    bool dotted = p->tok.kind == PTX_TOK_DOT && p->tok.text == name->text + name->len + 1;
    if (dotted) len += 1u + p->tok.len;
    if (len >= sizeof(text)) return unknown_name(p, name);
    memcpy(text, name->text, len); /* adjacent in the source */
    if (dotted) ptx_next(p);
    int sreg = ptx_sreg_find(text, len);
    out->kind = sreg >= 0 ? PTX_OPND_SREG : PTX_OPND_NONE;
    if (sreg >= 0)
        out->sreg = (enum ptx_sreg)sreg;
    else if (ptx_rules_other_sreg(text, len))
        ptx_unsupported(p, name->line, text, len);
    else
        ptx_unknown(p, name->line, "name", text, len);
}

static void label(struct ptx_parser *p, const struct ptx_token *name, struct ptx_operand *out,
                  uint32_t index) {
    struct ptx_fixup *fix = ptx_push(p, &p->fixups, sizeof(*fix));
    if (!fix) return;
    *fix = (struct ptx_fixup){name->text, name->len, name->line, p->insts.count - 1, index, NULL};
    out->kind = PTX_OPND_LABEL;
    out->target = -1;
}

static void word(struct ptx_parser *p, struct ptx_operand *out, uint32_t index) {
    struct ptx_token name = p->tok;
    if (name.kind != PTX_TOK_WORD) return ptx_expected(p, "a name");
    if (ptx_token_is(&name, "WARP_SZ")) return immediate(p, out);
    ptx_next(p);
    if (ptx_token_is(&name, "_")) return;
    int32_t reg = ptx_reg_find(p, &name);
    if (reg >= 0) {
        out->kind = PTX_OPND_REG;
        out->reg = reg;
        /* %v.x, %r.b0 and %r.h1 are parts of vector registers and of the video instructions'
         * operands. */
        if (p->tok.kind == PTX_TOK_DOT) {
            ptx_unsupported(p, p->tok.line, p->tok.text - 1, p->tok.len + 1u);
            ptx_next(p);
        }
    } else if (symbol(p, &name, out)) {
        if (out->kind == PTX_OPND_VAR) out->offset = offset(p);
    } else if (name.text[0] == '%') {
        special(p, &name, out);
    } else if (index != UINT32_MAX) {
        label(p, &name, out, index);
    } else {
        unknown_name(p, &name);
    }
}

/* Parses d|p, the pair of setp, shfl, match and atom. */
static void pair(struct ptx_parser *p, struct ptx_operand *out, int depth) {
    struct ptx_operand *both = ptx_alloc(p, 2, sizeof(*both));
    if (!both) return;
    both[0] = *out;
    both[1].reg = -1;
    operand(p, &both[1], UINT32_MAX, depth + 1);
    *out = (struct ptx_operand){.kind = PTX_OPND_VEC, .reg = -1, .elems = both, .elem_count = 2};
}

static void operand(struct ptx_parser *p, struct ptx_operand *out, uint32_t index, int depth) {
    *out = (struct ptx_operand){.reg = -1};
    if (depth > PTX_MAX_DEPTH) return ptx_fail(p, "operand nested too deeply");
    if (ptx_accept(p, '{')) {
        list(p, out, '}', depth);
        if (ptx_accept(p, '|')) pair(p, out, depth);
        return;
    }
    if (ptx_at(p, '[')) return address(p, out, depth);
    if (ptx_accept(p, '!')) {
        word(p, out, UINT32_MAX);
        out->negated = true;
        if (!p->err && out->kind != PTX_OPND_REG) ptx_fail(p, "expected a predicate after '!'");
        return;
    }
    if (p->tok.kind != PTX_TOK_WORD) return immediate(p, out);
    word(p, out, index);
    if (ptx_accept(p, '|')) pair(p, out, depth);
}

void ptx_operand(struct ptx_parser *p, struct ptx_operand *out, uint32_t index) {
    operand(p, out, index, 0);
}

static struct ptx_func *prototype(struct ptx_parser *p) {
    struct ptx_token name = ptx_expect_word(p, "a prototype");
    const struct ptx_name *e = p->err ? NULL : ptx_lookup(p, &name);
    if (e && e->kind == PTX_NAME_PROTO) return e->item;
    unknown_name(p, &name);
    return NULL;
}

/* Parses [(rets),] callee [, (args)] [, prototype]. */
struct ptx_func *ptx_call_operands(struct ptx_parser *p, struct ptx_operand *out) {
    for (int n = 0; n < PTX_CALL_OPERANDS; n++)
        out[n] = (struct ptx_operand){.reg = -1};
    if (ptx_accept(p, '(')) {
        ptx_operand_list(p, &out[0], ')');
        ptx_expect(p, ',');
    }
    struct ptx_token callee = p->tok;
    operand(p, &out[1], UINT32_MAX, 0);
    if (!p->err && out[1].kind != PTX_OPND_REG && out[1].kind != PTX_OPND_FUNC)
        ptx_fail_at(p, callee.line, "expected a function to call");
    if (!ptx_accept(p, ',')) return NULL;
    if (ptx_accept(p, '(')) {
        ptx_operand_list(p, &out[2], ')');
        if (!ptx_accept(p, ',')) return NULL;
    }
    return prototype(p);
}
