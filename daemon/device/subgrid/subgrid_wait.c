/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/device/subgrid/subgrid_wait.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- loops ----------------------------------------------------------------------------------- */

/* Stores differences from one instruction to the next. */
static void note_jump(struct subgrid_wait *w, uint32_t from, int32_t to) {
    if (to < 0 || (uint32_t)to > from) return;
    w->loops[to]++;
    w->loops[from + 1]--;
}

static void find_loops(struct subgrid_wait *w) {
    const struct ptx_func *f = w->func;
    for (uint32_t k = 0; k < f->inst_count; k++) {
        const struct ptx_inst *i = &f->insts[k];
        if (i->op == PTX_OP_bra) note_jump(w, k, ptx_operand_at(i, 0)->target);
        for (uint32_t t = 0; i->op == PTX_OP_brx && t < i->table_count; t++)
            note_jump(w, k, i->table[t]);
    }
    for (uint32_t k = 1; k < f->inst_count; k++)
        w->loops[k] += w->loops[k - 1];
}

bool subgrid_wait_again(const struct subgrid_wait *w, const struct ptx_inst *i) {
    return w->loops[i - w->func->insts] > 0;
}

/* ---- registers ------------------------------------------------------------------------------- */

static void count_uses(struct subgrid_wait *w, const struct ptx_operand *o) {
    bool names = o->kind == PTX_OPND_REG || o->kind == PTX_OPND_ADDR;
    if (names && o->reg >= 0 && (uint32_t)o->reg < w->func->reg_count) w->uses[o->reg]++;
    for (uint32_t k = 0; k < o->elem_count; k++)
        count_uses(w, &o->elems[k]);
}

static void find_uses(struct subgrid_wait *w) {
    const struct ptx_func *f = w->func;
    for (uint32_t k = 0; k < f->inst_count; k++) {
        const struct ptx_inst *i = &f->insts[k];
        if (i->pred >= 0 && (uint32_t)i->pred < f->reg_count) w->uses[i->pred]++;
        for (uint32_t j = 0; j < i->operand_count; j++)
            count_uses(w, &i->operands[j]);
    }
}

/* True when only this operand names the register. */
static bool is_unread(const struct subgrid_wait *w, const struct ptx_operand *o) {
    if (o->kind == PTX_OPND_NONE) return true;
    return o->kind == PTX_OPND_REG && o->reg >= 0 && w->uses[o->reg] == 1;
}

/* ---- instructions ---------------------------------------------------------------------------- */

static bool has_word(const struct ptx_inst *i, const char *const *words, size_t count) {
    for (size_t k = 0; k < count; k++)
        if (strstr(i->text, words[k])) return true;
    return false;
}

bool subgrid_wait_sees(const struct subgrid_wait *w, const struct ptx_inst *i) {
    static const char *const loads[] = {".volatile", ".relaxed", ".acquire", ".mmio", ".cv"};
    static const char *const fences[] = {".gl", ".gpu", ".sys"};
    if (i->space == PTX_SHARED || i->space == PTX_LOCAL || i->space == PTX_PARAM) return false;
    /* with other blocks it would be a race, and observes nothing */
    if (strstr(i->text, ".cta")) return false;
    if (i->op == PTX_OP_ld || i->op == PTX_OP_ldu) return has_word(i, loads, 5);
    if (i->op == PTX_OP_atom) return !is_unread(w, ptx_operand_at(i, 0));
    return (i->op == PTX_OP_fence || i->op == PTX_OP_membar) && has_word(i, fences, 3);
}

/* ---- beginning and end ----------------------------------------------------------------------- */

int subgrid_wait_init(struct subgrid_wait *w, const struct ptx_func *f) {
    *w = (struct subgrid_wait){.func = f};
    w->loops = calloc((size_t)f->inst_count + 1, sizeof(*w->loops));
    w->uses = calloc((size_t)f->reg_count + 1, sizeof(*w->uses));
    if (!w->loops || !w->uses) {
        subgrid_wait_finish(w);
        return -ENOMEM;
    }
    find_loops(w);
    find_uses(w);
    return 0;
}

void subgrid_wait_finish(struct subgrid_wait *w) {
    free(w->loops);
    free(w->uses);
    *w = (struct subgrid_wait){0};
}
