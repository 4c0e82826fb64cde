/* SPDX-License-Identifier: Apache-2.0
 *
 * Parses instructions: guard, opcode with modifiers, operands.
 */
#include "daemon/device/soft/ptx/ptx_inst.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/device/soft/instructions/ptx_legacy.h"
#include "daemon/device/soft/instructions/ptx_matrix.h"
#include "daemon/device/soft/instructions/ptx_rules.h"
#include "daemon/device/soft/instructions/ptx_tables.h"
#include "daemon/device/soft/instructions/ptx_texture.h"
#include "daemon/device/soft/instructions/ptx_wgmma.h"
#include "daemon/device/soft/ptx/ptx_label.h"
#include "daemon/device/soft/ptx/ptx_operand.h"
#include "daemon/device/soft/ptx/ptx_parser.h"
#include "daemon/device/soft/ptx/ptx_reg.h"
#include "daemon/device/soft/ptx/ptx_verify.h"

/* The decoded form of one spelling of an opcode. */
struct ptx_opcode {
    struct ptx_inst inst; /* initial value of such an instruction */
    struct ptx_sig sig;
};

/* ---- opcodes --------------------------------------------------------------------------------- */

static enum ptx_op operation(struct ptx_parser *p, const char *text, size_t len) {
    enum ptx_op op = ptx_op_find(text, len);
    bool known = op != PTX_OP_UNKNOWN || ptx_rules_other_op(text, len);
    if (!known && p->module->version <= PTX_RULES_VERSION)
        ptx_fail_at(p, p->tok.line, "unknown instruction '%.*s'", len > 60 ? 60 : (int)len, text);
    return op;
}

/* Reads the modifiers. A modifier of PTX that no handler knows makes the operation unknown. */
static void modifiers(struct ptx_inst *i, const char *dot, const char *end) {
    while (dot && i->op != PTX_OP_UNKNOWN) {
        const char *at = dot + 1;
        dot = memchr(at, '.', (size_t)(end - at));
        if (!ptx_modifier(i, at, (size_t)((dot ? dot : end) - at)) && !ptx_op_is_raw(i->op))
            i->op = PTX_OP_UNKNOWN;
    }
}

/* Matches the opcode against the table that has the operation's forms. */
static bool match(enum ptx_op op, const char *text, struct ptx_sig *sig, char *why,
                  size_t why_bytes) {
    if (ptx_matrix_is(op)) return ptx_matrix_match(op, text, sig, why, why_bytes);
    if (op == PTX_OP_wgmma) return ptx_wgmma_match(text, sig, why, why_bytes);
    if (ptx_texture_is(op)) return ptx_texture_match(op, text, sig, why, why_bytes);
    return ptx_rules_match(op, text, sig, why, why_bytes);
}

static const struct ptx_opcode *decode_opcode(struct ptx_parser *p, const char *said,
                                              size_t bytes) {
    char why[128], today[PTX_LEGACY_BYTES];
    struct ptx_opcode *o = ptx_alloc(p, 1, sizeof(*o));
    if (!o) return NULL;
    bool old = ptx_legacy(p->module->version, p->module->target, said, bytes, today);
    const char *text = old ? today : said, *key = ptx_intern(p, said, bytes);
    size_t len = old ? strlen(today) : bytes;
    o->inst.text = old ? ptx_intern(p, text, len) : key;
    if (p->err) return NULL;
    const char *dot = memchr(text, '.', len);
    enum ptx_op op = operation(p, text, dot ? (size_t)(dot - text) : len);
    if (!match(op, o->inst.text, &o->sig, why, sizeof(why))) {
        if (p->module->version <= PTX_RULES_VERSION)
            ptx_fail_at(p, p->tok.line, "%.60s: %s", o->inst.text, why);
        op = PTX_OP_UNKNOWN;
    }
    if (o->sig.open && (ptx_texture_is(op) || op == PTX_OP_wgmma)) op = PTX_OP_UNKNOWN;
    o->inst.op = (uint16_t)op;
    o->inst.vec = 1;
    modifiers(&o->inst, dot, text + len);
    if (!ptx_names_add(&p->opcodes, key, bytes, PTX_NAME_OPCODE, o)) ptx_fail_memory(p);
    return o;
}

/* Parses an opcode with its modifiers, from its first word on. */
static const struct ptx_opcode *opcode(struct ptx_parser *p) {
    struct ptx_token t = p->tok;
    if (t.kind != PTX_TOK_WORD) {
        ptx_expected(p, "an instruction");
        return NULL;
    }
    size_t len = t.len + ptx_lex_modifiers(&p->lex);
    const struct ptx_name *e = ptx_names_find(&p->opcodes, t.text, len);
    const struct ptx_opcode *o = e ? e->item : decode_opcode(p, t.text, len);
    ptx_next(p);
    return o;
}

/* ---- instructions ---------------------------------------------------------------------------- */

static int32_t guard(struct ptx_parser *p, bool *negated) {
    *negated = ptx_accept(p, '!');
    struct ptx_token t = ptx_expect_word(p, "a predicate");
    if (p->err) return -1;
    int32_t pred = ptx_reg_find(p, &t);
    if (pred < 0 || ((const struct ptx_reg *)p->regs.items)[pred].type != PTX_PRED)
        ptx_fail_at(p, t.line, "%s predicate '%.*s'", pred < 0 ? "unknown" : "a guard must be a",
                    (int)t.len, t.text);
    return pred;
}

/* Copies the operands of `i` to the arena. */
static void keep(struct ptx_parser *p, struct ptx_inst *i, const struct ptx_operand *read,
                 uint32_t count) {
    i->operands = count ? ptx_alloc(p, count, sizeof(*read)) : NULL;
    if (!i->operands) return;
    memcpy(i->operands, read, count * sizeof(*read));
    i->operand_count = (uint8_t)count;
}

static void branch_table(struct ptx_parser *p, struct ptx_inst *i) {
    struct ptx_operand index;
    ptx_operand(p, &index, UINT32_MAX);
    keep(p, i, &index, 1);
    ptx_expect(p, ',');
    struct ptx_token t = ptx_expect_word(p, "a list of targets");
    const struct ptx_name *e = p->err ? NULL : ptx_lookup(p, &t);
    if (!e || e->kind != PTX_NAME_TARGETS)
        return ptx_fail_at(p, t.line, "unknown targets '%.*s'", (int)t.len, t.text);
    const struct ptx_targets *targets = e->item;
    i->table = targets->table;
    i->table_count = targets->count;
}

static void call(struct ptx_parser *p, struct ptx_inst *i) {
    struct ptx_operand read[PTX_CALL_OPERANDS];
    i->proto = ptx_call_operands(p, read);
    keep(p, i, read, PTX_CALL_OPERANDS);
}

static void operands(struct ptx_parser *p, struct ptx_inst *i) {
    struct ptx_operand read[PTX_OPERANDS];
    uint32_t count = 0;
    if (i->op == PTX_OP_call) return call(p, i);
    if (i->op == PTX_OP_brx) return branch_table(p, i);
    if (ptx_at(p, ';')) return;
    do {
        if (count == PTX_OPERANDS) return ptx_fail(p, "too many operands");
        ptx_operand(p, &read[count], count);
        count++;
    } while (ptx_accept(p, ','));
    keep(p, i, read, count);
}

/* Replaces a vector of one element by the element in memory accesses: Triton emits such vectors. */
static void unwrap_single(struct ptx_inst *i) {
    if ((i->op != PTX_OP_ld && i->op != PTX_OP_ldu && i->op != PTX_OP_st) || i->vec != 1) return;
    for (uint32_t k = 0; k < i->operand_count; k++) {
        struct ptx_operand *o = &i->operands[k];
        bool single = o->kind == PTX_OPND_VEC && o->elem_count == 1;
        if (single && (o->elems->kind == PTX_OPND_REG || o->elems->kind == PTX_OPND_IMM))
            *o = *o->elems;
    }
}

/* Skips operands of unknown syntax up to the ';', but rejects registers that are not declared. */
static void opaque_operands(struct ptx_parser *p) {
    while (!p->err && !ptx_at(p, ';')) {
        struct ptx_token t = p->tok;
        if (t.kind == PTX_TOK_END) return ptx_expected(p, "';'");
        ptx_next(p);
        if (t.kind != PTX_TOK_WORD || t.text[0] != '%' || p->opaque) continue;
        bool dotted = p->tok.kind == PTX_TOK_DOT && p->tok.text == t.text + t.len + 1;
        size_t len = t.len + (dotted ? 1u + p->tok.len : 0);
        if (ptx_reg_find(p, &t) < 0 && ptx_sreg_find(t.text, len) < 0 &&
            !ptx_rules_other_sreg(t.text, len))
            ptx_unknown(p, t.line, "name", t.text, len);
    }
}

static void verify(struct ptx_parser *p, const struct ptx_inst *i, const struct ptx_sig *sig) {
    if (p->err || p->lazy) return;
    ptx_verify_inst(p, i, sig);
    if (i->op == PTX_OP_call) ptx_verify_call(p, i);
}

/* True for multimem. Its addresses, of several devices' memory at once, come from multicast
 * objects, which do not exist here. Kernels contain such instructions for systems that have them
 * (NCCL's do); executing one traps. */
static bool is_out_of_reach(const struct ptx_inst *i) {
    return i->op == PTX_OP_UNKNOWN && strncmp(i->text, "multimem.", 9) == 0;
}

/* Parses an instruction. It is built in place, since no other is added meanwhile. */
void ptx_inst(struct ptx_parser *p) {
    uint32_t line = p->tok.line;
    int32_t pred = -1;
    bool negated = false;
    if (ptx_accept(p, '@')) pred = guard(p, &negated);
    const struct ptx_opcode *decoded = p->err ? NULL : opcode(p);
    if (!decoded || p->err) return;
    if (++p->inst_total > PTX_MAX_INSTS) return ptx_fail(p, "too many instructions");
    struct ptx_inst *i = ptx_push(p, &p->insts, sizeof(*i));
    if (!i) return;
    *i = decoded->inst;
    i->pred = pred;
    i->pred_neg = negated;
    i->line = line;
    p->lazy = false;
    bool traps = is_out_of_reach(i);
    if (i->op == PTX_OP_UNKNOWN && !traps) ptx_unsupported(p, line, i->text, strlen(i->text));
    bool opaque = p->opaque || ptx_op_is_opaque((enum ptx_op)i->op);
    if (opaque)
        opaque_operands(p);
    else
        operands(p, i);
    ptx_expect(p, ';');
    if (traps) i->op = PTX_OP_trap;
    if (opaque) return;
    unwrap_single(i);
    verify(p, i, &decoded->sig);
}
