/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the text word by word, leaves parts out and inserts others; the rest is copied unchanged.
 * In a body, each read of %ctaid or %nctaid becomes a read of a register with the value in the
 * whole grid. The result is parsed again.
 */
#include "daemon/device/subgrid/subgrid_rewrite.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "daemon/device/soft/ptx/ptx_lex.h"
#include "daemon/device/soft/ptx/ptx_parse.h"
#include "daemon/device/subgrid/subgrid.h"

#define NAMES_TRIED 100

struct rewriting {
    const struct ptx_module *m;
    bool *kept;              /* [m->func_count] */
    const char *begin, *end; /* the text's bounds */
    struct ptx_lex lex;
    struct ptx_token tok; /* the current token */
    const char *copied;   /* the text is copied up to there */
    struct buf out;
    char name[24]; /* prefix of all inserted names */
    char *why;
    size_t why_bytes;
    int err;
};

static void fail(struct rewriting *r, int err, const char *text) {
    if (r->err) return;
    r->err = err;
    snprintf(r->why, r->why_bytes, "%s", text);
    r->tok.kind = PTX_TOK_END;
}

/* ---- tokens ---------------------------------------------------------------------------------- */

static void next(struct rewriting *r) {
    if (!r->err) ptx_lex_next(&r->lex, &r->tok);
}

static bool at_end(const struct rewriting *r) {
    return r->tok.kind == PTX_TOK_END;
}

static bool at(const struct rewriting *r, char punct) {
    return r->tok.kind == PTX_TOK_PUNCT && r->tok.punct == punct;
}

static bool is_text(const struct ptx_token *t, const char *text) {
    return t->len == strlen(text) && !memcmp(t->text, text, t->len);
}

static bool at_dot(const struct rewriting *r, const char *name) {
    return r->tok.kind == PTX_TOK_DOT && is_text(&r->tok, name);
}

static bool at_word(const struct rewriting *r, const char *name) {
    return r->tok.kind == PTX_TOK_WORD && is_text(&r->tok, name);
}

/* The beginning of the current token. */
static const char *here(const struct rewriting *r) {
    bool inside = r->tok.kind == PTX_TOK_DOT || r->tok.kind == PTX_TOK_STRING;
    return r->tok.text - inside;
}

/* Skips to behind the current token, or behind its closing bracket. */
static void skip_nested(struct rewriting *r, char open, char close) {
    uint32_t depth = 0;
    do {
        depth += at(r, open);
        depth -= at(r, close);
        if (at_end(r)) fail(r, -ENOTSUP, "the module's PTX ends too early");
        next(r);
    } while (depth && !at_end(r));
}

/* Skips to behind the semicolon. */
static void skip_statement(struct rewriting *r) {
    while (!at_end(r) && !at(r, ';'))
        next(r);
    next(r);
}

/* ---- output ---------------------------------------------------------------------------------- */

static void copy_to(struct rewriting *r, const char *to) {
    if (to > r->copied) buf_append(&r->out, r->copied, (size_t)(to - r->copied));
    r->copied = to;
}

/* Leaves out the text from there to the current token; a blank keeps the words apart. */
static void leave_out(struct rewriting *r, const char *from) {
    copy_to(r, from);
    r->copied = here(r);
    buf_append(&r->out, "\n", 1);
}

/* ---- functions ------------------------------------------------------------------------------- */

static const struct ptx_func *func_at(struct rewriting *r) {
    char *name = r->tok.kind == PTX_TOK_WORD ? strndup(r->tok.text, r->tok.len) : NULL;
    const struct ptx_func *f = name ? ptx_find_func(r->m, name) : NULL;
    if (!f) fail(r, name ? -ENOTSUP : -ENOMEM, "the module has an unknown function");
    free(name);
    return f;
}

/* Suffixes of the inserted parameters and registers. */
static const char *const added[SUBGRID_PARAMS] = {"x", "y", "z", "nx", "ny", "nz"};

/* Adds parameters behind the name; the list of parameters may be missing. */
static void add_params(struct rewriting *r, const struct ptx_func *f) {
    bool list = at(r, '(');
    for (uint32_t depth = 0; list && !at_end(r); next(r)) {
        depth += at(r, '(');
        depth -= at(r, ')');
        if (!depth) break;
    }
    copy_to(r, here(r));
    if (!list) buf_append(&r->out, "(", 1);
    const char *sep = f->param_count ? ", " : "";
    for (uint32_t k = 0; k < SUBGRID_PARAMS; k++, sep = ", ")
        buf_printf(&r->out, "%s.param .u32 %s_%s", sep, r->name, added[k]);
    if (!list) buf_append(&r->out, ") ", 2);
    if (list) next(r);
}

/* Adds registers at the first word of a body. */
static void add_registers(struct rewriting *r) {
    copy_to(r, here(r));
    buf_printf(&r->out, "\n.reg .b32 %%%s_o;\n", r->name);
    for (uint32_t k = 0; k < SUBGRID_PARAMS; k++)
        buf_printf(&r->out, ".reg .b32 %%%s_%s;\nld.param.u32 %%%s_%s, [%s_%s];\n", r->name,
                   added[k], r->name, added[k], r->name, added[k]);
    for (uint32_t k = 0; k < 3; k++)
        buf_printf(&r->out, "mov.u32 %%%s_o, %%ctaid.%s;\nadd.u32 %%%s_%s, %%%s_%s, %%%s_o;\n",
                   r->name, added[k], r->name, added[k], r->name, added[k], r->name);
}

static void replace_place(struct rewriting *r) {
    const char *from = here(r), *size = at_word(r, "%nctaid") ? "n" : "";
    next(r);
    if (!at_dot(r, "x") && !at_dot(r, "y") && !at_dot(r, "z"))
        return fail(r, -ENOTSUP, "a kernel reads all parts of its position at once");
    char dimension = r->tok.text[0];
    next(r);
    copy_to(r, from);
    buf_printf(&r->out, "%%%s_%s%c ", r->name, size, dimension);
    r->copied = here(r);
}

/* .loc 1 10 3, function_name $L__info_string0+4, inlined_at 1 20 3: leaves out references to
 * sections. */
static void leave_location(struct rewriting *r) {
    const char *from = here(r);
    next(r);
    while (r->tok.kind == PTX_TOK_INT)
        next(r);
    while (at(r, ',')) {
        next(r);
        bool named = at_word(r, "function_name");
        next(r);
        if (named) next(r);
        while (r->tok.kind == PTX_TOK_INT || at(r, '+'))
            next(r);
    }
    leave_out(r, from);
}

/* Copies a body; the current token is '{'. */
static void body(struct rewriting *r, bool entry) {
    uint32_t depth = 1;
    next(r);
    if (entry) add_registers(r);
    while (depth && !at_end(r)) {
        if (entry && (at_word(r, "%ctaid") || at_word(r, "%nctaid"))) {
            replace_place(r);
        } else if (at_dot(r, "loc")) {
            leave_location(r);
        } else {
            depth += at(r, '{');
            depth -= at(r, '}');
            next(r);
        }
    }
    if (depth) fail(r, -ENOTSUP, "the module's PTX ends too early");
}

/* Reads .maxntid and others, up to the body. False: it is a declaration, and is read to its end. */
static bool head_rest(struct rewriting *r) {
    while (!at_end(r) && !at(r, '{') && !at(r, ';')) {
        bool pragma = at_dot(r, "pragma");
        if (at(r, '('))
            skip_nested(r, '(', ')');
        else if (pragma)
            skip_statement(r);
        else
            next(r);
    }
    bool defined = at(r, '{');
    if (!defined) next(r);
    return defined;
}

/* Handles .entry or .func; `from`: its beginning, with its linkage. */
static void function(struct rewriting *r, const char *from) {
    bool entry = at_dot(r, "entry");
    next(r);
    while (r->tok.kind == PTX_TOK_DOT || at(r, '(')) {
        if (at(r, '('))
            skip_nested(r, '(', ')');
        else
            next(r);
    }
    const struct ptx_func *f = func_at(r);
    if (!f) return;
    next(r);
    struct rewriting before = *r; /* a declaration may follow, which entries do not need */
    bool defined = head_rest(r), keep = r->kept[f->index] && (defined || !entry);
    if (!keep) {
        if (defined) skip_nested(r, '{', '}');
        return leave_out(r, from);
    }
    if (entry) {
        r->lex = before.lex;
        r->tok = before.tok;
        add_params(r, f);
        head_rest(r);
    }
    if (defined) body(r, entry);
}

/* ---- the module ------------------------------------------------------------------------------ */

/* .file 1 "name", 12, 34 */
static void leave_file(struct rewriting *r, const char *from) {
    next(r);
    while (r->tok.kind == PTX_TOK_INT || r->tok.kind == PTX_TOK_STRING || at(r, ','))
        next(r);
    leave_out(r, from);
}

static void leave_section(struct rewriting *r, const char *from) {
    while (!at_end(r) && !at(r, '{'))
        next(r);
    skip_nested(r, '{', '}');
    leave_out(r, from);
}

/* A module for a debugger would need its sections. */
static void target(struct rewriting *r) {
    do {
        next(r);
        if (at_word(r, "debug")) fail(r, -ENOTSUP, "the module's PTX is compiled for a debugger");
        next(r);
    } while (at(r, ','));
}

static void toplevel(struct rewriting *r) {
    const char *from = here(r);
    while (at_dot(r, "extern") || at_dot(r, "visible") || at_dot(r, "weak") || at_dot(r, "common"))
        next(r);
    if (at_dot(r, "entry") || at_dot(r, "func")) return function(r, from);
    if (at_dot(r, "target")) return target(r);
    if (at_dot(r, "file")) return leave_file(r, from);
    if (at_dot(r, "section")) return leave_section(r, from);
    if (at_dot(r, "shared") || at_dot(r, "pragma")) return skip_statement(r);
    if (at_dot(r, "global") || at_dot(r, "const") || at_dot(r, "alias")) {
        skip_statement(r);
        return leave_out(r, from);
    }
    next(r);
}

static void keep_callees(struct rewriting *r, const struct ptx_operand *o) {
    for (uint32_t k = 0; k < o->elem_count; k++)
        keep_callees(r, &o->elems[k]);
    const struct ptx_func *f = o->kind == PTX_OPND_FUNC ? o->func : NULL;
    if (!f || r->kept[f->index]) return;
    r->kept[f->index] = true;
    for (uint32_t k = 0; k < f->inst_count; k++)
        for (uint32_t j = 0; j < f->insts[k].operand_count; j++)
            keep_callees(r, &f->insts[k].operands[j]);
}

static uint32_t choose(struct rewriting *r) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < r->m->func_count; i++) {
        const struct ptx_func *f = r->m->funcs[i];
        if (!f->entry || !subgrid_may(f, r->why, r->why_bytes)) continue;
        keep_callees(r, &(struct ptx_operand){.kind = PTX_OPND_FUNC, .func = r->m->funcs[i]});
        count++;
    }
    return count;
}

/* Chooses a name that the text does not contain. */
static void choose_name(struct rewriting *r) {
    for (uint32_t i = 0; i < NAMES_TRIED; i++) {
        snprintf(r->name, sizeof(r->name), "subgrid%u", i);
        if (!memmem(r->begin, (size_t)(r->end - r->begin), r->name, strlen(r->name))) return;
    }
    fail(r, -ENOTSUP, "the module uses all names that could be added");
}

/* ---- checking the output --------------------------------------------------------------------- */

static bool is_as_wanted(const struct rewriting *r, const struct ptx_module *m) {
    for (uint32_t i = 0; i < r->m->func_count; i++) {
        const struct ptx_func *old = r->m->funcs[i], *f = ptx_find_func(m, old->name);
        if (!r->kept[i]) continue;
        uint32_t more = old->entry ? SUBGRID_PARAMS : 0;
        if (!f || !f->defined || f->entry != old->entry || f->unsupported ||
            f->param_count != old->param_count + more)
            return false;
        if (old->entry && f->params[old->param_count]->offset != subgrid_param_at(old->param_bytes))
            return false;
    }
    return true;
}

static void look_again(struct rewriting *r) {
    struct ptx_module *m = NULL;
    char why[160] = "";
    const char *text = buf_str(&r->out);
    if (r->out.failed) fail(r, -ENOMEM, "the worker is out of memory");
    if (r->err) return;
    int err = ptx_parse(text, r->out.len, &m, why, sizeof(why));
    if (err) fail(r, err == -ENOMEM ? err : -ENOTSUP, why);
    if (!err && !is_as_wanted(r, m)) fail(r, -ENOTSUP, "the rewritten PTX is not as expected");
    ptx_module_free(m);
}

static void rewrite(struct rewriting *r) {
    if (!choose(r)) return fail(r, -ENOENT, "no kernel of the module can be split");
    choose_name(r);
    next(r);
    while (!at_end(r))
        toplevel(r);
    copy_to(r, r->end);
    look_again(r);
}

int subgrid_rewrite(const char *text, size_t bytes, const struct ptx_module *m, char **out,
                    char *why, size_t why_bytes) {
    struct rewriting r = {.m = m, .begin = text, .why = why, .why_bytes = why_bytes};
    *out = NULL;
    ptx_lex_init(&r.lex, text, bytes);
    r.copied = text;
    r.end = r.lex.end;
    r.kept = calloc(m->func_count + 1, sizeof(*r.kept));
    buf_init(&r.out);
    if (!r.kept) return -ENOMEM;
    rewrite(&r);
    if (!r.err) *out = strdup(buf_str(&r.out));
    if (!r.err && !*out) r.err = -ENOMEM;
    buf_finish(&r.out);
    free(r.kept);
    return r.err;
}
