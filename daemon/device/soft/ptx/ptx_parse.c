/* SPDX-License-Identifier: Apache-2.0
 *
 * Parses a module: header lines, functions, variables, and sections that are skipped (debugging).
 */
#include "daemon/device/soft/ptx/ptx_parse.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/atomics.h"
#include "common/err.h"
#include "daemon/device/soft/ptx/ptx_decl.h"
#include "daemon/device/soft/ptx/ptx_func.h"
#include "daemon/device/soft/ptx/ptx_parser.h"

#define PARSE_NEWEST_VERSION 99 /* .version 9.9 */

/* ---- header ---------------------------------------------------------------------------------- */

/* Parses the version. The scanner read "9.0" as a decimal number, but the digits are needed. */
static void version(struct ptx_parser *p) {
    struct ptx_token t = p->tok;
    unsigned major, minor;
    char text[16] = "";
    if (t.kind == PTX_TOK_FLOAT && t.len < sizeof(text)) memcpy(text, t.text, t.len);
    if (sscanf(text, "%3u.%3u", &major, &minor) != 2 || major == 0 || minor > 9)
        return ptx_expected(p, "a version like 9.0");
    p->module->version = major * 10 + minor;
    if (p->module->version > PARSE_NEWEST_VERSION) {
        ptx_fail(p, "PTX version %u.%u is newer than %d.%d", major, minor,
                 PARSE_NEWEST_VERSION / 10, PARSE_NEWEST_VERSION % 10);
        p->err = ERR_UNSUPPORTED_PTX;
    }
    ptx_next(p);
}

/* Parses sm_75. The letters of sm_90a and sm_100f stand for features of only that architecture. */
static void target(struct ptx_parser *p) {
    do {
        struct ptx_token t = ptx_expect_word(p, "a target");
        if (p->err) return;
        if (t.len < 4 || memcmp(t.text, "sm_", 3) != 0) continue;
        uint32_t sm = 0;
        for (uint32_t i = 3; i < t.len && t.text[i] >= '0' && t.text[i] <= '9' && sm < 10000; i++)
            sm = sm * 10 + (uint32_t)(t.text[i] - '0');
        p->module->target = sm;
    } while (ptx_accept(p, ','));
    if (!p->module->target) ptx_fail(p, "expected a target like sm_75");
}

static void address_size(struct ptx_parser *p) {
    uint64_t bits = ptx_expect_int(p, "an address size");
    if (!p->err && bits != 64) ptx_fail(p, "only 64-bit addresses are supported");
}

/* ---- skipped sections ------------------------------------------------------------------------ */

/* Skips .section .debug_info { ... } */
static void section(struct ptx_parser *p) {
    while (p->tok.kind != PTX_TOK_END && !ptx_at(p, '{'))
        ptx_next(p);
    ptx_skip_nested(p, '{', '}');
}

/* ---- the module ------------------------------------------------------------------------------ */

static enum ptx_linkage linkage(struct ptx_parser *p) {
    if (ptx_accept_dot(p, "extern")) return PTX_LINK_EXTERN;
    if (ptx_accept_dot(p, "visible")) return PTX_LINK_VISIBLE;
    if (ptx_accept_dot(p, "weak")) return PTX_LINK_WEAK;
    if (ptx_accept_dot(p, "common")) return PTX_LINK_COMMON;
    return PTX_LINK_NONE;
}

static void toplevel(struct ptx_parser *p) {
    if (p->tok.kind != PTX_TOK_DOT) {
        if (!ptx_accept(p, ';')) ptx_expected(p, "a directive");
        return;
    }
    if (!ptx_at_dot(p, "version") && p->module->version == 0)
        return ptx_fail(p, "expected '.version' first");
    if (ptx_accept_dot(p, "version")) return version(p);
    if (ptx_accept_dot(p, "target")) return target(p);
    if (ptx_accept_dot(p, "address_size")) return address_size(p);
    if (ptx_accept_dot(p, "file")) return ptx_file_line(p);
    if (ptx_accept_dot(p, "section")) return section(p);
    if (ptx_accept_dot(p, "pragma")) return ptx_skip_to(p, ';');
    if (ptx_at_dot(p, "alias")) return ptx_alias(p);
    enum ptx_linkage l = linkage(p);
    if (ptx_at_dot(p, "entry") || ptx_at_dot(p, "func")) return ptx_function(p, l);
    if (ptx_at_space(p)) return ptx_module_var(p, l);
    ptx_expected(p, "a function or a variable");
}

static void module(struct ptx_parser *p) {
    ptx_next(p);
    while (p->tok.kind != PTX_TOK_END) {
        if (p->over && atom_load_relaxed(p->over)) ptx_fail_cancelled(p);
        toplevel(p);
    }
    if (p->err) return;
    if (p->module->version == 0) return ptx_expected(p, "'.version'");
    if (p->module->target == 0) return ptx_expected(p, "'.target'");
    ptx_apply_aliases(p);
    if (p->err) return;
    p->module->func_count = p->funcs.count;
    p->module->funcs = ptx_take(p, &p->funcs, sizeof(struct ptx_func *));
    p->module->var_count = p->vars.count;
    p->module->vars = ptx_take(p, &p->vars, sizeof(struct ptx_var *));
}

static int start(struct ptx_parser *p) {
    p->arena = arena_create();
    p->module = p->arena ? arena_alloc(p->arena, sizeof(*p->module)) : NULL;
    p->globals = malloc(sizeof(*p->globals));
    if (!p->module || !p->globals) {
        arena_destroy(p->arena);
        free(p->globals);
        return -ENOMEM;
    }
    p->module->arena = p->arena;
    p->module->names = p->globals;
    ptx_names_init(p->globals);
    ptx_names_init(&p->names);
    ptx_names_init(&p->ranges);
    ptx_names_init(&p->opcodes);
    return 0;
}

static void stop(struct ptx_parser *p) {
    ptx_names_finish(&p->names);
    ptx_names_finish(&p->ranges);
    ptx_names_finish(&p->opcodes);
    struct ptx_vec *vecs[] = {&p->funcs, &p->vars,      &p->aliases, &p->insts,
                              &p->regs,  &p->func_vars, &p->fixups};
    for (size_t i = 0; i < sizeof(vecs) / sizeof(vecs[0]); i++)
        free(vecs[i]->items);
}

int ptx_parse(const char *text, size_t bytes, struct ptx_module **out, char *why,
              size_t why_bytes) {
    return ptx_parse_until(text, bytes, NULL, out, why, why_bytes);
}

int ptx_parse_until(const char *text, size_t bytes, const _Atomic bool *over,
                    struct ptx_module **out, char *why, size_t why_bytes) {
    struct ptx_parser p = {.over = over, .why = why, .why_bytes = why_bytes};
    *out = NULL;
    if (why_bytes) why[0] = 0;
    if (start(&p)) return -ENOMEM;
    ptx_lex_init(&p.lex, text, bytes);
    if (bytes > PTX_MAX_TEXT_BYTES)
        ptx_fail(&p, "more than %u bytes of PTX", PTX_MAX_TEXT_BYTES);
    else
        module(&p);
    stop(&p);
    if (p.err) {
        ptx_module_free(p.module);
        return p.err;
    }
    *out = p.module;
    return 0;
}

void ptx_module_free(struct ptx_module *m) {
    if (!m) return;
    for (uint32_t i = 0; i < m->unit_count; i++)
        ptx_module_free(m->units[i]);
    ptx_names_finish(m->names);
    free(m->names);
    arena_destroy(m->arena);
}

static void *find(const struct ptx_module *m, const char *name, uint32_t kind) {
    const struct ptx_name *e = ptx_names_find(m->names, name, strlen(name));
    return e && e->kind == kind ? e->item : NULL;
}

struct ptx_func *ptx_find_func(const struct ptx_module *m, const char *name) {
    return find(m, name, PTX_NAME_FUNC);
}

struct ptx_var *ptx_find_var(const struct ptx_module *m, const char *name) {
    return find(m, name, PTX_NAME_VAR);
}
