/* SPDX-License-Identifier: Apache-2.0
 *
 * Variables of a module: computes sizes, places them, fills them in, and records whose address is
 * taken.
 */
#include "daemon/device/soft/module/code_module.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/arena.h"
#include "common/err.h"
#include "daemon/device/soft/code/func.h"
#include "daemon/device/soft/ptx/ptx_parse.h"

uint64_t code_var_align(const struct ptx_var *v) {
    uint64_t align = 1;
    while (align < v->align && align < 65536)
        align *= 2;
    return align;
}

static bool code_is_placed(const struct ptx_var *v) {
    return v->space == PTX_GLOBAL || v->space == PTX_CONST;
}

struct code_layout {
    uint64_t bytes, align, base;
    bool filled;
    const struct ptx_var *unresolved;
};

/* Calls `fn` for each variable in global or constant memory: the module's, then those of functions
 * (static ones). */
static void code_each_var(struct ptx_module *m,
                          void (*fn)(struct code_module *, struct ptx_var *, struct code_layout *),
                          struct code_module *module, struct code_layout *layout) {
    for (uint32_t i = 0; i < m->var_count; i++)
        if (code_is_placed(m->vars[i])) fn(module, m->vars[i], layout);
    for (uint32_t i = 0; i < m->func_count; i++)
        for (uint32_t k = 0; k < m->funcs[i]->var_count; k++)
            if (code_is_placed(m->funcs[i]->vars[k])) fn(module, m->funcs[i]->vars[k], layout);
}

static void code_measure(struct code_module *module, struct ptx_var *v,
                         struct code_layout *layout) {
    (void)module;
    if (v->linkage == PTX_LINK_EXTERN) {
        if (!layout->unresolved) layout->unresolved = v;
        return;
    }
    uint64_t align = code_var_align(v);
    if (align > layout->align) layout->align = align;
    uint64_t at = (layout->bytes + align - 1) & ~(align - 1);
    v->offset = at;
    layout->bytes =
        v->bytes > UINT64_MAX / 4 || at > UINT64_MAX / 4 ? UINT64_MAX / 2 : at + v->bytes;
}

static void code_rebase(struct code_module *module, struct ptx_var *v, struct code_layout *layout) {
    (void)module;
    v->offset += layout->base;
}

static void code_note_address(struct code_module *m, const struct ptx_func *f) {
    if (f->index < m->ptx->func_count) m->address_taken[f->index] = true;
}

/* Fills in initialisers. Symbols already have addresses. */
static void code_initialise(struct code_module *m, struct ptx_var *v, struct code_layout *layout) {
    unsigned char *at = (unsigned char *)(uintptr_t)v->offset;
    if (v->init && !layout->filled) memcpy(at, v->init, v->bytes);
    for (uint32_t i = 0; i < v->reloc_count; i++) {
        const struct ptx_reloc *r = &v->relocs[i];
        struct ptx_var *target = ptx_find_var(m->ptx, r->symbol);
        struct ptx_func *func = target ? NULL : ptx_find_func(m->ptx, r->symbol);
        uint64_t value;
        if (target && code_is_placed(target) && target->linkage != PTX_LINK_EXTERN) {
            value = target->offset;
        } else if (func) {
            value = CODE_HANDLE(func->index);
            code_note_address(m, func);
        } else {
            layout->unresolved = v;
            return;
        }
        value = (value + (uint64_t)r->addend) >> (r->shift & 63);
        if (r->bytes > 8 || r->at > v->bytes || r->bytes > v->bytes - r->at) continue;
        if (!layout->filled) memcpy(at + r->at, &value, r->bytes);
    }
}

static void code_scan_operand(struct code_module *m, const struct ptx_inst *i,
                              const struct ptx_operand *o, uint32_t k) {
    bool callee = i->op == PTX_OP_call && k <= 1;
    if (o->kind == PTX_OPND_FUNC && o->func && !callee) code_note_address(m, o->func);
    for (uint32_t e = 0; o->kind == PTX_OPND_VEC && e < o->elem_count; e++)
        code_scan_operand(m, i, &o->elems[e], 8);
}

static void code_scan_addresses(struct code_module *m) {
    for (uint32_t f = 0; f < m->ptx->func_count; f++) {
        const struct ptx_func *func = m->ptx->funcs[f];
        for (uint32_t n = 0; n < func->inst_count; n++)
            for (uint32_t k = 0; k < func->insts[n].operand_count; k++)
                code_scan_operand(m, &func->insts[n], &func->insts[n].operands[k], k);
    }
}

int code_module_place(struct code_module *m, const struct code_env *env, char *why,
                      size_t why_bytes) {
    struct code_layout layout = {.align = 256, .filled = env->filled};
    code_each_var(m->ptx, code_measure, m, &layout);
    if (!layout.unresolved && layout.bytes) {
        layout.base = env->alloc(env->arg, layout.bytes, layout.align);
        if (!layout.base) {
            snprintf(
                why, why_bytes,
                "%llu bytes of variables do not fit into the module window (window_module_bytes)",
                (unsigned long long)layout.bytes);
            return ERR_NO_MEMORY;
        }
        code_each_var(m->ptx, code_rebase, m, &layout);
        code_each_var(m->ptx, code_initialise, m, &layout);
    }
    if (!layout.unresolved) return 0;
    snprintf(why, why_bytes, "%s is undefined, or refers to an undefined name",
             layout.unresolved->name);
    return ERR_NOT_FOUND;
}

/* Makes the tables of facts about functions, by their index. */
static int make_tables(struct code_module *m) {
    size_t n = (size_t)m->ptx->func_count + 1;
    m->arena = arena_create();
    if (!m->arena) return -ENOMEM;
    m->address_taken = arena_calloc(m->arena, n, sizeof(*m->address_taken));
    m->names = arena_calloc(m->arena, n, sizeof(struct code_names *));
    m->decoded = arena_calloc(m->arena, n, sizeof(struct decoded *));
    return m->address_taken && m->names && m->decoded ? 0 : -ENOMEM;
}

int code_module_create(struct code_module **out, struct ptx_module *ptx) {
    struct code_module *m = calloc(1, sizeof(*m));
    if (!m) return -ENOMEM;
    m->ptx = ptx;
    int err = make_tables(m);
    if (err) {
        arena_destroy(m->arena);
        free(m);
        return err;
    }
    code_scan_addresses(m);
    *out = m;
    return 0;
}

void code_launchable_free(struct code_module *m) {
    for (uint32_t i = 0; m->launchable && i < m->ptx->func_count; i++)
        free(m->launchable[i].why);
    free(m->launchable);
    m->launchable = NULL;
}

void code_module_destroy(struct code_module *m) {
    if (!m) return;
    code_launchable_free(m);
    while (m->kernels) {
        struct code_kernel *k = m->kernels;
        m->kernels = k->next;
        arena_destroy(k->arena);
    }
    ptx_module_free(m->ptx);
    arena_destroy(m->arena);
    free(m);
}

int code_global_get(struct code_module *m, const char *name, uint64_t *addr, uint64_t *bytes) {
    const struct ptx_var *v = ptx_find_var(m->ptx, name);
    if (!v || !code_is_placed(v)) return ERR_NOT_FOUND;
    *addr = v->offset;
    *bytes = v->bytes;
    return 0;
}
