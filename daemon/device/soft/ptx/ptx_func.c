/* SPDX-License-Identifier: Apache-2.0
 *
 * Parses functions: heads, launch bounds, bodies with nested scopes, prototypes, branch tables.
 */
#include "daemon/device/soft/ptx/ptx_func.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/device/soft/ptx/ptx_decl.h"
#include "daemon/device/soft/ptx/ptx_inst.h"
#include "daemon/device/soft/ptx/ptx_label.h"
#include "daemon/device/soft/ptx/ptx_parser.h"
#include "daemon/device/soft/ptx/ptx_reg.h"

struct ptx_alias {
    struct ptx_func *name;
    const char *target;
    uint32_t target_len, line;
};

static struct ptx_func *named_func(struct ptx_parser *p, const struct ptx_token *name) {
    const struct ptx_name *e = ptx_names_find(p->globals, name->text, name->len);
    if (e && e->kind == PTX_NAME_FUNC) return e->item;
    if (e) {
        ptx_fail_at(p, name->line, "'%.*s' is not a function", (int)name->len, name->text);
        return NULL;
    }
    struct ptx_func *f = ptx_alloc(p, 1, sizeof(*f));
    struct ptx_func **slot = f ? ptx_push(p, &p->funcs, sizeof(*slot)) : NULL;
    if (!slot) return NULL;
    *slot = f;
    f->name = ptx_intern(p, name->text, name->len);
    f->index = p->funcs.count - 1;
    ptx_declare_global(p, f->name, PTX_NAME_FUNC, f);
    return f;
}

/* ---- directives between the head and the body ------------------------------------------------ */

static void dims_of(struct ptx_parser *p, uint32_t dims[3]) {
    for (int i = 0; i < 3; i++)
        dims[i] = 1;
    for (int i = 0; i < 3 && !p->err; i++) {
        uint64_t n = ptx_expect_int(p, "a dimension");
        dims[i] = n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
        if (!ptx_accept(p, ',')) break;
    }
}

static uint32_t count_of(struct ptx_parser *p, const char *what) {
    uint64_t n = ptx_expect_int(p, what);
    return n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

/* Skips .noreturn, .pragma "nounroll"; and other directives that have no effect. */
static void other_directive(struct ptx_parser *p) {
    ptx_next(p);
    if (ptx_at(p, '(')) ptx_skip_nested(p, '(', ')');
    bool pragma = p->tok.kind == PTX_TOK_STRING;
    while (p->tok.kind == PTX_TOK_INT || p->tok.kind == PTX_TOK_STRING || ptx_at(p, ','))
        ptx_next(p);
    if (pragma) ptx_expect(p, ';');
}

/* Parses directives. Returns true when a ';' ended a mere declaration. */
static bool directives(struct ptx_parser *p, struct ptx_func *f) {
    while (p->tok.kind == PTX_TOK_DOT) {
        if (ptx_accept_dot(p, "maxntid"))
            dims_of(p, f->max_block);
        else if (ptx_accept_dot(p, "reqntid"))
            dims_of(p, f->req_block);
        else if (ptx_accept_dot(p, "reqnctapercluster"))
            dims_of(p, f->req_cluster);
        else if (ptx_accept_dot(p, "explicitcluster"))
            f->explicit_cluster = true;
        else if (ptx_accept_dot(p, "maxclusterrank"))
            f->max_cluster = (uint32_t)ptx_expect_int(p, "a rank");
        else if (ptx_accept_dot(p, "maxnreg"))
            f->max_regs = count_of(p, "a number of registers");
        else if (ptx_accept_dot(p, "minnctapersm"))
            f->min_blocks = count_of(p, "a number of blocks");
        else
            other_directive(p);
    }
    return ptx_accept(p, ';');
}

/* ---- statements of a body -------------------------------------------------------------------- */

static void call_prototype(struct ptx_parser *p, const struct ptx_token *label) {
    struct ptx_func *f = ptx_alloc(p, 1, sizeof(*f));
    if (!f) return;
    f->name = ptx_intern(p, label->text, label->len);
    if (ptx_at(p, '(')) f->rets = ptx_param_list(p, &f->ret_count, false);
    ptx_expect_word(p, "'_'");
    if (ptx_at(p, '(')) f->params = ptx_param_list(p, &f->param_count, false);
    ptx_layout(p, f->rets, f->ret_count);
    f->param_bytes = ptx_layout(p, f->params, f->param_count);
    while (p->tok.kind == PTX_TOK_DOT)
        ptx_next(p);
    ptx_expect(p, ';');
    if (!p->err) ptx_declare(p, label, PTX_NAME_PROTO, f, 0);
}

static void branch_targets(struct ptx_parser *p, const struct ptx_token *label) {
    struct ptx_vec names = {0};
    do {
        struct ptx_token *t = ptx_push(p, &names, sizeof(*t));
        if (!t) break;
        *t = ptx_expect_word(p, "a label");
    } while (!p->err && ptx_accept(p, ','));
    ptx_expect(p, ';');
    struct ptx_targets *targets = ptx_alloc(p, 1, sizeof(*targets));
    if (targets) targets->table = ptx_alloc(p, names.count, sizeof(int32_t));
    for (uint32_t i = 0; !p->err && i < names.count; i++) {
        const struct ptx_token *t = (struct ptx_token *)names.items + i;
        struct ptx_fixup *fix = ptx_push(p, &p->fixups, sizeof(*fix));
        if (!fix) break;
        *fix = (struct ptx_fixup){t->text, t->len, t->line, 0, 0, &targets->table[i]};
    }
    if (!p->err) {
        targets->count = names.count;
        ptx_declare(p, label, PTX_NAME_TARGETS, targets, 0);
    }
    free(names.items);
}

/* Parses what follows "name :": an ordinary label, or the name of a prototype or a table. */
static void labelled(struct ptx_parser *p, const struct ptx_token *name) {
    if (ptx_accept_dot(p, "callprototype"))
        call_prototype(p, name);
    else if (ptx_accept_dot(p, "branchtargets"))
        branch_targets(p, name);
    else if (ptx_accept_dot(p, "calltargets")) {
        /* A closed list of callees is skipped: the call's own arguments give the prototype. */
        ptx_skip_to(p, ';');
        ptx_declare(p, name, PTX_NAME_PROTO, NULL, 0);
    } else
        ptx_label(p, name);
}

/* Skips .loc 1 10 3, function_name $L__info_string0+4, inlined_at 1 20 3 */
static void location(struct ptx_parser *p) {
    ptx_next(p);
    while (p->tok.kind == PTX_TOK_INT)
        ptx_next(p);
    while (ptx_accept(p, ',')) {
        struct ptx_token what = ptx_expect_word(p, "'function_name' or 'inlined_at'");
        if (ptx_token_is(&what, "function_name")) ptx_expect_word(p, "a label");
        while (p->tok.kind == PTX_TOK_INT || ptx_at(p, '+'))
            ptx_next(p);
    }
}

void ptx_file_line(struct ptx_parser *p) {
    ptx_expect_int(p, "a file number");
    if (p->tok.kind != PTX_TOK_STRING) return ptx_expected(p, "a file name");
    ptx_next(p);
    while (ptx_accept(p, ','))
        ptx_expect_int(p, "an integer");
}

static void body_directive(struct ptx_parser *p) {
    if (ptx_at_dot(p, "reg")) return ptx_reg_decl(p);
    if (ptx_at_space(p)) return ptx_body_var(p);
    if (ptx_at_dot(p, "loc")) return location(p);
    if (ptx_at_dot(p, "pragma")) return ptx_skip_to(p, ';');
    if (ptx_accept_dot(p, "file")) return ptx_file_line(p);
    struct ptx_token t = p->tok;
    ptx_unknown(p, t.line, "directive", t.text - 1, t.len + 1u);
    ptx_skip_to(p, ';');
}

static bool statement_is_label(const struct ptx_parser *p) {
    struct ptx_lex ahead = p->lex;
    if (p->tok.kind != PTX_TOK_WORD || (ahead.at < ahead.end && *ahead.at == '.')) return false;
    struct ptx_token t;
    ptx_lex_next(&ahead, &t);
    return t.kind == PTX_TOK_PUNCT && t.punct == ':';
}

static void statement(struct ptx_parser *p) {
    if (p->tok.kind == PTX_TOK_DOT) return body_directive(p);
    if (statement_is_label(p)) {
        struct ptx_token name = p->tok;
        ptx_next(p);
        ptx_next(p);
        return labelled(p, &name);
    }
    if (ptx_accept(p, ';')) return;
    ptx_inst(p);
}

static void open_scope(struct ptx_parser *p) {
    ptx_names_open(&p->names);
    ptx_names_open(&p->ranges);
}

static void close_scope(struct ptx_parser *p) {
    ptx_names_close(&p->names);
    ptx_names_close(&p->ranges);
}

/* Parses a block at '{'. Labels of an inner scope belong to it: inlined asm repeats them. */
static void block(struct ptx_parser *p, int depth) {
    ptx_expect(p, '{');
    if (depth > PTX_MAX_DEPTH) return ptx_fail(p, "blocks nested too deeply");
    open_scope(p);
    uint32_t first_fixup = p->fixups.count;
    while (!p->err && !ptx_at(p, '}')) {
        if (p->tok.kind == PTX_TOK_END) {
            ptx_expected(p, "'}'");
            break;
        }
        if (ptx_at(p, '{'))
            block(p, depth + 1);
        else
            statement(p);
    }
    ptx_resolve_labels(p, first_fixup, depth == 0);
    close_scope(p);
    ptx_expect(p, '}');
}

/* ---- functions ------------------------------------------------------------------------------- */

static void body(struct ptx_parser *p, struct ptx_func *f) {
    if (f->defined) return ptx_fail(p, "function '%s' is defined twice", f->name);
    p->insts.count = p->regs.count = p->func_vars.count = p->fixups.count = 0;
    block(p, 0);
    if (p->err) return;
    f->defined = true;
    f->inst_count = p->insts.count;
    f->insts = ptx_take(p, &p->insts, sizeof(struct ptx_inst));
    f->reg_count = p->regs.count;
    f->regs = ptx_take(p, &p->regs, sizeof(struct ptx_reg));
    f->var_count = p->func_vars.count;
    f->vars = ptx_take(p, &p->func_vars, sizeof(struct ptx_var *));
}

/* Parses a function at .entry or .func. Declarations may precede and follow the definition; the
 * parameters of the definition remain. */
void ptx_function(struct ptx_parser *p, enum ptx_linkage linkage) {
    bool entry = ptx_at_dot(p, "entry");
    ptx_next(p);
    struct ptx_func head = {.entry = entry, .linkage = (uint8_t)linkage};
    p->func = &head;
    p->opaque = false;
    open_scope(p);
    while (ptx_at_dot(p, "attribute") || ptx_at_dot(p, "noreturn"))
        other_directive(p);
    if (!entry && ptx_at(p, '(')) head.rets = ptx_param_list(p, &head.ret_count, true);
    struct ptx_token name = ptx_expect_word(p, "a function's name");
    if (ptx_at(p, '(')) head.params = ptx_param_list(p, &head.param_count, true);
    ptx_layout(p, head.rets, head.ret_count);
    head.param_bytes = ptx_layout(p, head.params, head.param_count);
    bool only_declared = directives(p, &head);
    struct ptx_func *f = p->err ? NULL : named_func(p, &name);
    if (f && !(only_declared && f->defined)) {
        head.name = f->name;
        head.index = f->index;
        head.defined = f->defined;
        *f = head;
        p->func = f;
        if (!only_declared) body(p, f);
    }
    close_scope(p);
    p->func = NULL;
}

void ptx_alias(struct ptx_parser *p) {
    ptx_next(p);
    struct ptx_token name = ptx_expect_word(p, "a function's name");
    ptx_expect(p, ',');
    struct ptx_token target = ptx_expect_word(p, "a function's name");
    ptx_expect(p, ';');
    struct ptx_func *f = p->err ? NULL : named_func(p, &name);
    struct ptx_alias *a = f ? ptx_push(p, &p->aliases, sizeof(*a)) : NULL;
    if (a) *a = (struct ptx_alias){f, target.text, target.len, target.line};
}

/* An alias shares the body of its target. The language has no chains of aliases. */
void ptx_apply_aliases(struct ptx_parser *p) {
    for (uint32_t i = 0; !p->err && i < p->aliases.count; i++) {
        const struct ptx_alias *a = (struct ptx_alias *)p->aliases.items + i;
        const struct ptx_name *e = ptx_names_find(p->globals, a->target, a->target_len);
        const struct ptx_func *target = e && e->kind == PTX_NAME_FUNC ? e->item : NULL;
        if (!target || !target->defined || a->name->defined)
            return ptx_fail_at(p, a->line, "'%s' cannot be an alias of '%.*s'", a->name->name,
                               (int)a->target_len, a->target);
        struct ptx_func copy = *target;
        copy.name = a->name->name;
        copy.index = a->name->index;
        copy.linkage = a->name->linkage;
        *a->name = copy;
    }
}
