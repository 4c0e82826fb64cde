/* SPDX-License-Identifier: Apache-2.0
 *
 * Collects names in one pass over the instructions of a function, and stores them as sorted lists.
 */
#include "daemon/device/soft/module/names.h"

#include <stdlib.h>
#include <string.h>

#include "common/arena.h"
#include "daemon/device/soft/code/native.h"
#include "daemon/device/soft/module/code_module.h"

/* A list that grows while a function is analysed. */
struct heap {
    uint32_t *items, count, room;
    bool lost; /* out of memory */
};

struct walk {
    const struct ptx_module *ptx;
    struct code_names *names;
    struct heap calls, launches, shared;
};

static void add(struct heap *h, uint32_t item) {
    if (h->count && h->items[h->count - 1] == item) return; /* the usual case */
    if (h->count == h->room) {
        uint32_t room = h->room ? h->room * 2 : 64;
        uint32_t *items = realloc(h->items, room * sizeof(*items));
        h->lost |= !items;
        if (!items) return;
        h->items = items;
        h->room = room;
    }
    h->items[h->count++] = item;
}

static void look_at_operand(struct walk *w, const struct ptx_operand *o) {
    const struct ptx_var *v = o->var;
    if (o->kind == PTX_OPND_FUNC && o->func && o->func->entry &&
        o->func->index < w->ptx->func_count)
        add(&w->launches, o->func->index);
    if (v && v->space == PTX_SHARED && !v->func_scope && v->index < w->ptx->var_count)
        add(&w->shared, v->index);
    if (o->kind == PTX_OPND_SREG && o->sreg >= PTX_SREG_RESERVED_SMEM_BEGIN &&
        o->sreg <= PTX_SREG_RESERVED_SMEM_1)
        w->names->reserved = true;
    for (uint32_t e = 0; o->kind == PTX_OPND_VEC && e < o->elem_count; e++)
        look_at_operand(w, &o->elems[e]);
}

static void look_at_call(struct walk *w, const struct ptx_inst *i) {
    bool direct = false;
    for (uint32_t k = 0; k < i->operand_count && k <= 1; k++) {
        const struct ptx_func *f = i->operands[k].func;
        if (i->operands[k].kind != PTX_OPND_FUNC) continue;
        direct = true;
        if (!f) continue;
        enum code_native native = native_find(f);
        w->names->nests |= native_is_cdp(native);
        w->names->launches_graphs |= native == NATIVE_GraphLaunch;
        w->names->prints |= native == NATIVE_vprintf;
        w->names->allocates |= native_uses_heap(native) || native == NATIVE_free;
        if (f->index < w->ptx->func_count) add(&w->calls, f->index);
    }
    w->names->indirect |= !direct;
}

static void look_at(struct walk *w, const struct ptx_func *f) {
    for (uint32_t n = 0; n < f->inst_count; n++) {
        const struct ptx_inst *i = &f->insts[n];
        for (uint32_t k = 0; k < i->operand_count; k++)
            look_at_operand(w, &i->operands[k]);
        if (i->op == PTX_OP_call) look_at_call(w, i);
    }
}

static int by_number(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Copies the list to the arena, sorted and without duplicates, and frees the growing list. */
static bool keep(struct heap *h, struct arena *arena, struct names_list *out) {
    bool lost = h->lost;
    if (h->count) {
        qsort(h->items, h->count, sizeof(*h->items), by_number);
        for (uint32_t i = 0; i < h->count; i++)
            if (!i || h->items[i] != h->items[i - 1]) h->items[out->count++] = h->items[i];
        out->items = arena_alloc(arena, out->count * sizeof(*out->items));
        lost |= !out->items;
        if (out->items) memcpy(out->items, h->items, out->count * sizeof(*out->items));
    }
    free(h->items);
    return !lost;
}

const struct code_names *names_of(struct code_module *m, uint32_t func) {
    if (m->names[func]) return m->names[func];
    struct code_names *names = arena_calloc(m->arena, 1, sizeof(*names));
    if (!names) return NULL;
    struct walk w = {.ptx = m->ptx, .names = names};
    look_at(&w, m->ptx->funcs[func]);
    bool kept = keep(&w.calls, m->arena, &names->calls);
    kept &= keep(&w.launches, m->arena, &names->launches);
    kept &= keep(&w.shared, m->arena, &names->shared);
    if (kept) m->names[func] = names;
    return m->names[func];
}
