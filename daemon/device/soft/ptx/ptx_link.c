/* SPDX-License-Identifier: Apache-2.0
 *
 * Links the units of a program that was built with -rdc=true. The joined module owns the units and
 * lists their definitions. In the units, references to a mere declaration are changed to the
 * definition, and private symbols may get new names.
 */
#include "daemon/device/soft/ptx/ptx_link.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "daemon/device/soft/ptx/ptx_parse.h"
#include "daemon/device/soft/ptx/ptx_parser.h"

struct linker {
    struct ptx_module *out;
    uint32_t func_cap, var_cap;
    uint32_t private_count; /* symbols renamed so far; makes new names unique */
    int err;
    char *why;
    size_t why_bytes;
};

static void fail_link(struct linker *l, int err, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static void fail_link(struct linker *l, int err, const char *fmt, ...) {
    if (l->err) return;
    l->err = err;
    va_list ap;
    va_start(ap, fmt);
    if (l->why_bytes) vsnprintf(l->why, l->why_bytes, fmt, ap);
    va_end(ap);
}

/* ---- precedence ------------------------------------------------------------------------------ */

enum strength { LINK_UNDEFINED, LINK_WEAK, LINK_COMMON, LINK_STRONG };

static enum strength strength(bool defined, uint8_t linkage) {
    if (!defined) return LINK_UNDEFINED;
    if (linkage == PTX_LINK_WEAK) return LINK_WEAK;
    return linkage == PTX_LINK_COMMON ? LINK_COMMON : LINK_STRONG;
}

static bool var_defined(const struct ptx_var *v) {
    return v->linkage != PTX_LINK_EXTERN;
}

static bool same_signature(const struct ptx_func *a, const struct ptx_func *b) {
    if (a->param_count != b->param_count || a->ret_count != b->ret_count) return false;
    for (uint32_t i = 0; i < a->param_count; i++)
        if (a->params[i]->bytes != b->params[i]->bytes) return false;
    for (uint32_t i = 0; i < a->ret_count; i++)
        if (a->rets[i]->bytes != b->rets[i]->bytes) return false;
    return true;
}

/* ---- names ----------------------------------------------------------------------------------- */

static struct ptx_name *enter(struct linker *l, const char *name, uint32_t kind, void *item) {
    struct ptx_name *e = ptx_names_add(l->out->names, name, strlen(name), kind, item);
    if (!e) fail_link(l, -ENOMEM, "out of memory");
    return e;
}

static const struct ptx_name *known(struct linker *l, const char *name, uint32_t kind) {
    const struct ptx_name *e = ptx_names_find(l->out->names, name, strlen(name));
    if (e && e->kind != kind)
        fail_link(l, ERR_INVALID_PTX, "'%s' is a function in one unit and a variable in another",
                  name);
    return e;
}

/* Returns a unique name for a private symbol. The first symbol of a name keeps it. */
static const char *private_name(struct linker *l, const char *name) {
    const char *unique = name;
    while (!l->err && ptx_names_find(l->out->names, unique, strlen(unique))) {
        size_t cap = strlen(name) + 24;
        char *text = arena_alloc(l->out->arena, cap);
        if (!text) {
            fail_link(l, -ENOMEM, "out of memory");
            break;
        }
        snprintf(text, cap, "%s$%u", name, ++l->private_count);
        unique = text;
    }
    return unique;
}

/* ---- functions ------------------------------------------------------------------------------- */

static void list_func(struct linker *l, struct ptx_func *f) {
    f->index = l->out->func_count;
    l->out->funcs[l->out->func_count++] = f;
    enter(l, f->name, PTX_NAME_FUNC, f);
}

static bool func_private(const struct ptx_func *f) {
    return f->defined && f->linkage == PTX_LINK_NONE && !f->entry;
}

static void add_func(struct linker *l, struct ptx_func *f) {
    if (func_private(f)) {
        f->name = private_name(l, f->name);
        return list_func(l, f);
    }
    const struct ptx_name *e = known(l, f->name, PTX_NAME_FUNC);
    if (l->err) return;
    if (!e) return list_func(l, f);
    struct ptx_func *old = e->item;
    enum strength mine = strength(f->defined, f->linkage);
    enum strength theirs = strength(old->defined, old->linkage);
    if (mine == LINK_STRONG && theirs == LINK_STRONG)
        return fail_link(l, ERR_INVALID_PTX, "function '%s' is defined in two units", f->name);
    if (!same_signature(f, old))
        return fail_link(l, ERR_INVALID_PTX, "units disagree about the parameters of '%s'",
                         f->name);
    if (mine <= theirs) {
        f->linked = old;
        return;
    }
    old->linked = f;
    f->index = old->index;
    l->out->funcs[f->index] = f;
    ((struct ptx_name *)e)->item = f;
}

/* ---- variables ------------------------------------------------------------------------------- */

static void list_var(struct linker *l, struct ptx_var *v) {
    v->index = l->out->var_count;
    l->out->vars[l->out->var_count++] = v;
    enter(l, v->name, PTX_NAME_VAR, v);
}

static bool var_private(const struct ptx_var *v) {
    return v->linkage == PTX_LINK_NONE;
}

static void add_var(struct linker *l, struct ptx_var *v) {
    if (var_private(v)) {
        v->name = private_name(l, v->name);
        return list_var(l, v);
    }
    const struct ptx_name *e = known(l, v->name, PTX_NAME_VAR);
    if (l->err) return;
    if (!e) return list_var(l, v);
    struct ptx_var *old = e->item;
    enum strength mine = strength(var_defined(v), v->linkage);
    enum strength theirs = strength(var_defined(old), old->linkage);
    if (mine == LINK_STRONG && theirs == LINK_STRONG)
        return fail_link(l, ERR_INVALID_PTX, "variable '%s' is defined in two units", v->name);
    if (v->space != old->space)
        return fail_link(l, ERR_INVALID_PTX, "units disagree about the space of '%s'", v->name);
    uint32_t align = v->align > old->align ? v->align : old->align;
    v->align = old->align = align;
    bool larger = mine == LINK_COMMON && theirs == LINK_COMMON && v->bytes > old->bytes;
    if (mine <= theirs && !larger) {
        v->linked = old;
        return;
    }
    old->linked = v;
    v->index = old->index;
    l->out->vars[v->index] = v;
    ((struct ptx_name *)e)->item = v;
}

/* ---- references ------------------------------------------------------------------------------ */

static void relink_operand(struct ptx_operand *o) {
    while (o->var && o->var->linked)
        o->var = o->var->linked;
    while (o->func && o->func->linked)
        o->func = o->func->linked;
    for (uint32_t i = 0; i < o->elem_count; i++)
        relink_operand(&o->elems[i]);
}

static void relink_func(struct ptx_func *f) {
    for (uint32_t i = 0; i < f->inst_count; i++)
        for (uint32_t n = 0; n < f->insts[i].operand_count; n++)
            relink_operand(&f->insts[i].operands[n]);
}

/* Relinks an initialiser. It refers to the unit's own symbol, even if the symbol was renamed. */
static void relink_var(const struct ptx_module *unit, struct ptx_var *v) {
    for (uint32_t i = 0; i < v->reloc_count; i++) {
        struct ptx_var *var = ptx_find_var(unit, v->relocs[i].symbol);
        struct ptx_func *func = ptx_find_func(unit, v->relocs[i].symbol);
        while (var && var->linked)
            var = var->linked;
        while (func && func->linked)
            func = func->linked;
        if (var) v->relocs[i].symbol = var->name;
        if (func) v->relocs[i].symbol = func->name;
    }
}

static void relink_unit(struct ptx_module *unit) {
    for (uint32_t i = 0; i < unit->func_count; i++)
        relink_func(unit->funcs[i]);
    for (uint32_t i = 0; i < unit->var_count; i++)
        relink_var(unit, unit->vars[i]);
}

/* ---- the module ------------------------------------------------------------------------------ */

static int prepare(struct linker *l, struct ptx_module **units, uint32_t count) {
    uint64_t funcs = 0, vars = 0;
    struct ptx_module *out = l->out;
    for (uint32_t i = 0; i < count; i++) {
        funcs += units[i]->func_count;
        vars += units[i]->var_count;
        if (units[i]->version > out->version) out->version = units[i]->version;
        if (units[i]->target > out->target) out->target = units[i]->target;
    }
    out->funcs = arena_calloc(out->arena, funcs, sizeof(struct ptx_func *));
    out->vars = arena_calloc(out->arena, vars, sizeof(struct ptx_var *));
    out->units = arena_calloc(out->arena, count, sizeof(struct ptx_module *));
    return out->funcs && out->vars && out->units ? 0 : -ENOMEM;
}

static void add_unit(struct linker *l, struct ptx_module *unit, bool private) {
    for (uint32_t i = 0; i < unit->func_count && !l->err; i++)
        if (func_private(unit->funcs[i]) == private) add_func(l, unit->funcs[i]);
    for (uint32_t i = 0; i < unit->var_count && !l->err; i++)
        if (var_private(unit->vars[i]) == private) add_var(l, unit->vars[i]);
}

static struct ptx_module *new_module(void) {
    struct arena *arena = arena_create();
    struct ptx_module *m = arena ? arena_alloc(arena, sizeof(*m)) : NULL;
    struct ptx_names *names = m ? malloc(sizeof(*names)) : NULL;
    if (!names) {
        arena_destroy(arena);
        return NULL;
    }
    ptx_names_init(names);
    m->arena = arena;
    m->names = names;
    return m;
}

int ptx_link(struct ptx_module **units, uint32_t count, struct ptx_module **out, char *why,
             size_t why_bytes) {
    struct linker l = {.why = why, .why_bytes = why_bytes};
    *out = NULL;
    if (why_bytes) why[0] = 0;
    if (count == 0) return -EINVAL;
    l.out = new_module();
    if (!l.out || prepare(&l, units, count)) {
        ptx_module_free(l.out);
        return -ENOMEM;
    }
    /* Private symbols come second, since they are renamed when they clash with a visible name. */
    for (int private = 0; private < 2; private ++)
        for (uint32_t u = 0; u < count; u++)
            add_unit(&l, units[u], private);
    if (l.err) {
        ptx_module_free(l.out);
        return l.err;
    }
    for (uint32_t u = 0; u < count; u++) {
        relink_unit(units[u]);
        l.out->units[u] = units[u];
    }
    l.out->unit_count = count;
    *out = l.out;
    return 0;
}
