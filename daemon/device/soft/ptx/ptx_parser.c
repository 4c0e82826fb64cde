/* SPDX-License-Identifier: Apache-2.0
 *
 * Services for all parts of the parser: tokens, failures, memory, constants.
 */
#include "daemon/device/soft/ptx/ptx_parser.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "daemon/device/soft/instructions/ptx_rules.h"

static void fail(struct ptx_parser *p, int err, uint32_t line, const char *fmt, va_list ap) {
    if (p->err) return;
    p->err = err;
    p->lex.at = p->lex.end;
    p->tok = (struct ptx_token){.kind = PTX_TOK_END, .line = line, .text = p->lex.end};
    if (!p->why || p->why_bytes == 0) return;
    int n = snprintf(p->why, p->why_bytes, "line %u: ", line);
    if (n > 0 && (size_t)n < p->why_bytes) vsnprintf(p->why + n, p->why_bytes - (size_t)n, fmt, ap);
}

void ptx_fail(struct ptx_parser *p, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    fail(p, ERR_INVALID_PTX, p->tok.line, fmt, ap);
    va_end(ap);
}

void ptx_fail_at(struct ptx_parser *p, uint32_t line, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    fail(p, ERR_INVALID_PTX, line, fmt, ap);
    va_end(ap);
}

static void fail_code(struct ptx_parser *p, int err, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    fail(p, err, p->tok.line, fmt, ap);
    va_end(ap);
}

void ptx_fail_memory(struct ptx_parser *p) {
    fail_code(p, -ENOMEM, "out of memory");
}

void ptx_fail_cancelled(struct ptx_parser *p) {
    fail_code(p, ERR_CANCELLED, "parsing was cancelled");
}

void ptx_expected(struct ptx_parser *p, const char *what) {
    const struct ptx_token *t = &p->tok;
    int len = t->len > 40 ? 40 : (int)t->len;
    if (t->kind == PTX_TOK_END)
        ptx_fail(p, "expected %s, found the end of the text", what);
    else if (t->kind == PTX_TOK_BAD)
        ptx_fail(p, "expected %s, found an invalid token", what);
    else
        ptx_fail(p, "expected %s, found '%s%.*s'", what, t->kind == PTX_TOK_DOT ? "." : "", len,
                 t->text);
}

void *ptx_alloc(struct ptx_parser *p, size_t count, size_t bytes) {
    void *m = NULL;
    if (arena_used(p->arena) > PTX_MAX_ARENA_BYTES)
        ptx_fail(p, "the module needs too much memory");
    else if (!(m = arena_calloc(p->arena, count, bytes)))
        ptx_fail_memory(p);
    return m;
}

const char *ptx_intern(struct ptx_parser *p, const char *text, size_t len) {
    const char *s = arena_strndup(p->arena, text, len);
    if (!s) ptx_fail_memory(p);
    return s ? s : "";
}

void *ptx_push(struct ptx_parser *p, struct ptx_vec *v, size_t bytes) {
    if (v->count == v->cap) {
        uint32_t cap = v->cap ? v->cap * 2 : 16;
        void *items = v->cap > UINT32_MAX / 4 ? NULL : reallocarray(v->items, cap, bytes);
        if (!items) {
            ptx_fail_memory(p);
            return NULL;
        }
        v->items = items;
        v->cap = cap;
    }
    void *item = (char *)v->items + (size_t)v->count++ * bytes;
    memset(item, 0, bytes);
    return item;
}

void *ptx_take(struct ptx_parser *p, struct ptx_vec *v, size_t bytes) {
    void *copy = ptx_alloc(p, v->count, bytes);
    if (copy && v->count) memcpy(copy, v->items, (size_t)v->count * bytes);
    v->count = 0;
    return copy;
}

void ptx_declare(struct ptx_parser *p, const struct ptx_token *name, enum ptx_name_kind kind,
                 void *item, uint32_t index) {
    struct ptx_name *e = ptx_names_add(&p->names, name->text, name->len, kind, item);
    if (e)
        e->index = index;
    else
        ptx_fail_memory(p);
}

void ptx_declare_global(struct ptx_parser *p, const char *name, enum ptx_name_kind kind,
                        void *item) {
    if (!ptx_names_add(p->globals, name, strlen(name), kind, item)) ptx_fail_memory(p);
}

const struct ptx_name *ptx_lookup(const struct ptx_parser *p, const struct ptx_token *name) {
    const struct ptx_name *e = ptx_names_find(&p->names, name->text, name->len);
    return e ? e : ptx_names_find(p->globals, name->text, name->len);
}

void ptx_next(struct ptx_parser *p) {
    ptx_lex_next(&p->lex, &p->tok);
}

bool ptx_at(const struct ptx_parser *p, char punct) {
    return p->tok.kind == PTX_TOK_PUNCT && p->tok.punct == punct;
}

bool ptx_accept(struct ptx_parser *p, char punct) {
    if (!ptx_at(p, punct)) return false;
    ptx_next(p);
    return true;
}

void ptx_expect(struct ptx_parser *p, char punct) {
    char what[] = "' '";
    what[1] = punct;
    if (!ptx_accept(p, punct)) ptx_expected(p, what);
}

bool ptx_token_is(const struct ptx_token *t, const char *text) {
    return t->len == strlen(text) && memcmp(t->text, text, t->len) == 0;
}

bool ptx_at_dot(const struct ptx_parser *p, const char *name) {
    return p->tok.kind == PTX_TOK_DOT && ptx_token_is(&p->tok, name);
}

bool ptx_accept_dot(struct ptx_parser *p, const char *name) {
    if (!ptx_at_dot(p, name)) return false;
    ptx_next(p);
    return true;
}

struct ptx_token ptx_expect_word(struct ptx_parser *p, const char *what) {
    struct ptx_token t = p->tok;
    if (t.kind == PTX_TOK_WORD)
        ptx_next(p);
    else
        ptx_expected(p, what);
    return t;
}

uint64_t ptx_expect_int(struct ptx_parser *p, const char *what) {
    struct ptx_token t = p->tok;
    if (t.kind == PTX_TOK_INT)
        ptx_next(p);
    else
        ptx_expected(p, what);
    return p->err ? 0 : t.value;
}

void ptx_skip_to(struct ptx_parser *p, char punct) {
    while (p->tok.kind != PTX_TOK_END && !ptx_at(p, punct))
        ptx_next(p);
    ptx_expect(p, punct);
}

void ptx_skip_nested(struct ptx_parser *p, char open, char close) {
    char what[] = {'\'', close, '\'', 0};
    uint32_t depth = 0;
    do {
        if (ptx_at(p, open)) depth++;
        if (ptx_at(p, close)) depth--;
        if (p->tok.kind == PTX_TOK_END) return ptx_expected(p, what);
        ptx_next(p);
    } while (depth);
}

void ptx_unsupported(struct ptx_parser *p, uint32_t line, const char *what, size_t len) {
    p->lazy = true;
    if (!p->func || p->func->unsupported) return;
    char text[160];
    int n = snprintf(text, sizeof(text), "line %u: %.*s", line, (int)(len > 100 ? 100 : len), what);
    p->func->unsupported = ptx_intern(p, text, n > 0 ? (size_t)n : 0);
}

void ptx_unknown(struct ptx_parser *p, uint32_t line, const char *kind, const char *what,
                 size_t len) {
    if (p->module->version > PTX_RULES_VERSION)
        ptx_unsupported(p, line, what, len);
    else
        ptx_fail_at(p, line, "unknown %s '%.*s'", kind, len > 60 ? 60 : (int)len, what);
}

/* ---- constants ------------------------------------------------------------------------------ */

static bool const_unary(struct ptx_parser *p, struct ptx_token *out, int depth);

static bool const_sum(struct ptx_parser *p, struct ptx_token *out, int depth) {
    if (!const_unary(p, out, depth)) return false;
    while (out->kind == PTX_TOK_INT && (ptx_at(p, '+') || ptx_at(p, '-') || ptx_at(p, '*'))) {
        char op = p->tok.punct;
        ptx_next(p);
        struct ptx_token right;
        if (!const_unary(p, &right, depth)) return false;
        if (right.kind != PTX_TOK_INT) {
            ptx_fail(p, "expected an integer");
            return false;
        }
        if (op == '*')
            out->value *= right.value;
        else
            out->value += op == '+' ? right.value : -right.value;
    }
    return true;
}

static bool const_unary(struct ptx_parser *p, struct ptx_token *out, int depth) {
    if (depth > PTX_MAX_DEPTH) {
        ptx_fail(p, "constant nested too deeply");
        return false;
    }
    if (ptx_at(p, '-') || ptx_at(p, '~') || ptx_at(p, '+')) {
        char op = p->tok.punct;
        ptx_next(p);
        if (!const_unary(p, out, depth + 1)) return false;
        if (op == '-' && out->kind == PTX_TOK_FLOAT)
            out->value ^= (uint64_t)1 << (out->float_bytes * 8 - 1);
        else if (op != '+')
            out->value = op == '-' ? -out->value : ~out->value;
        return true;
    }
    if (ptx_accept(p, '(')) {
        if (!const_sum(p, out, depth + 1)) return false;
        ptx_expect(p, ')');
        return true;
    }
    *out = p->tok;
    if (p->tok.kind == PTX_TOK_WORD && ptx_token_is(&p->tok, "WARP_SZ")) {
        out->kind = PTX_TOK_INT;
        out->value = 32;
    } else if (p->tok.kind != PTX_TOK_INT && p->tok.kind != PTX_TOK_FLOAT) {
        ptx_expected(p, "a constant");
        return false;
    }
    ptx_next(p);
    return true;
}

bool ptx_const(struct ptx_parser *p, struct ptx_token *out) {
    return const_sum(p, out, 0);
}
