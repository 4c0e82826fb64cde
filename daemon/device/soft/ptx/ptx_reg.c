/* SPDX-License-Identifier: Apache-2.0
 *
 * Registers. "%r<8>" declares %r0 to %r7, but only registers that are used get an index. So a
 * function's register list is dense however generous its declarations are.
 */
#include "daemon/device/soft/ptx/ptx_reg.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/device/soft/instructions/ptx_tables.h"
#include "daemon/device/soft/ptx/ptx_parser.h"

/* .reg .b32 %r<8>: registers are created on first use. */
struct ptx_reg_range {
    const char *prefix;
    uint32_t count;
    uint8_t type;
    int32_t *regs; /* index into the function's registers, or -1 */
};

static int32_t new_reg(struct ptx_parser *p, const char *text, size_t len, uint8_t type) {
    struct ptx_reg *r = ptx_push(p, &p->regs, sizeof(*r));
    if (!r) return -1;
    r->name = ptx_intern(p, text, len);
    r->type = type;
    return (int32_t)p->regs.count - 1;
}

static void declare_range(struct ptx_parser *p, const struct ptx_token *name, uint8_t type) {
    uint64_t count = ptx_expect_int(p, "a register count");
    ptx_expect(p, '>');
    if (p->err) return;
    const struct ptx_name *old = ptx_names_find(&p->ranges, name->text, name->len);
    if (old && old->depth == p->ranges.depth)
        return ptx_fail_at(p, name->line, "'%.*s<>' is declared twice", (int)name->len, name->text);
    if (count > PTX_MAX_FUNC_REGS || p->reg_total + count > PTX_MAX_REGS)
        return ptx_fail(p, "too many registers");
    p->reg_total += count;
    struct ptx_reg_range *range = ptx_alloc(p, 1, sizeof(*range));
    if (!range) return;
    range->count = (uint32_t)count;
    range->type = type;
    range->regs = ptx_alloc(p, count, sizeof(*range->regs));
    if (!range->regs) return;
    memset(range->regs, 0xff, count * sizeof(*range->regs));
    if (!ptx_names_add(&p->ranges, name->text, name->len, PTX_NAME_RANGE, range))
        ptx_fail_memory(p);
}

/* True for types that registers can have. Other types exist only in instructions; their values are
 * held in registers of bits. */
static bool is_register_type(enum ptx_type t) {
    return t == PTX_F16X2 ||
           (t != PTX_NONE && t != PTX_BF16 && t != PTX_TF32 && ptx_type_class(t) != 'x');
}

/* Parses a register type. Returns PTX_NONE for vectors, which are not examined: a function with
 * them cannot run. */
static enum ptx_type take_type(struct ptx_parser *p) {
    struct ptx_token t = p->tok;
    bool vector = ptx_accept_dot(p, "v2") || ptx_accept_dot(p, "v4");
    if (vector) ptx_unsupported(p, t.line, ".reg of vectors", 15);
    enum ptx_type type =
        p->tok.kind == PTX_TOK_DOT ? ptx_type_find(p->tok.text, p->tok.len) : PTX_NONE;
    if (!is_register_type(type)) ptx_expected(p, "a register type");
    ptx_next(p);
    return vector ? PTX_NONE : type;
}

void ptx_reg_decl(struct ptx_parser *p) {
    ptx_next(p);
    enum ptx_type type = take_type(p);
    do {
        struct ptx_token name = ptx_expect_word(p, "a register name");
        if (p->err) return;
        if (ptx_accept(p, '<')) {
            declare_range(p, &name, (uint8_t)type);
            continue;
        }
        if (ptx_name_taken(p, &name))
            return ptx_fail_at(p, name.line, "'%.*s' is declared twice", (int)name.len, name.text);
        if (++p->reg_total > PTX_MAX_REGS) return ptx_fail(p, "too many registers");
        int32_t r = new_reg(p, name.text, name.len, (uint8_t)type);
        ptx_declare(p, &name, PTX_NAME_REG, NULL, (uint32_t)r);
    } while (ptx_accept(p, ','));
    ptx_expect(p, ';');
}

/* Finds %r12 as member 12 of the range %r, or as 2 of %r1. A leading zero makes a different
 * name. */
static const struct ptx_name *range_of(const struct ptx_parser *p, const struct ptx_token *name,
                                       uint32_t *member) {
    uint32_t n = 0, power = 1;
    for (uint32_t stem = name->len; stem > 1 && name->len - stem < 7;) {
        char digit = name->text[--stem];
        if (digit < '0' || digit > '9') break;
        n += power * (uint32_t)(digit - '0');
        power *= 10;
        if (digit == '0' && name->len - stem > 1) continue;
        const struct ptx_name *e = ptx_names_find(&p->ranges, name->text, stem);
        *member = n;
        if (e && n < ((const struct ptx_reg_range *)e->item)->count) return e;
    }
    return NULL;
}

int32_t ptx_reg_find(struct ptx_parser *p, const struct ptx_token *name) {
    uint32_t member = 0;
    const struct ptx_name *in = range_of(p, name, &member);
    const struct ptx_name *e = ptx_names_find(&p->names, name->text, name->len);
    if (e && e->kind == PTX_NAME_REG && (!in || e->depth >= in->depth)) return (int32_t)e->index;
    if (!in) return -1;
    struct ptx_reg_range *range = in->item;
    if (range->regs[member] < 0)
        range->regs[member] = new_reg(p, name->text, name->len, range->type);
    return range->regs[member];
}

bool ptx_name_taken(const struct ptx_parser *p, const struct ptx_token *name) {
    uint32_t member = 0;
    const struct ptx_name *in = range_of(p, name, &member);
    const struct ptx_name *e = ptx_names_find(&p->names, name->text, name->len);
    return (in && in->depth == p->ranges.depth) ||
           (e && e->depth == p->names.depth &&
            (e->kind == PTX_NAME_REG || e->kind == PTX_NAME_VAR));
}
