/* SPDX-License-Identifier: Apache-2.0
 *
 * A kernel and the functions that it calls, instruction by instruction.
 */
#include "daemon/device/subgrid/subgrid.h"

#include <stdio.h>
#include <string.h>

#define CALLS_DEEP 8
#define CALLEE 1 /* of a call's operands */

struct look {
    bool loops; /* something is done again */
    const struct ptx_inst
        *waits; /* what could be done again until another block has done something */
    char *why;
    size_t why_bytes;
};

static bool refuse(struct look *l, uint32_t line, const char *what, const char *name) {
    snprintf(l->why, l->why_bytes, "line %u: it %s%.60s", line, what, name);
    return false;
}

/* ---- operands -------------------------------------------------------------------------------- */

/* Which differ in a part, or name what only the whole grid has; but for those that are replaced. */
static const char *telling(enum ptx_sreg sreg) {
    switch ((int)sreg) {
    case PTX_SREG_GRIDID: return "%gridid";
    case PTX_SREG_ENVREG1:
    case PTX_SREG_ENVREG2: return "%envreg";
    case PTX_SREG_CURRENT_GRAPH_EXEC: return "%current_graph_exec";
    default:
        return sreg >= PTX_SREG_CLUSTERID_X && sreg <= PTX_SREG_IS_EXPLICIT_CLUSTER ? "%cluster"
                                                                                    : NULL;
    }
}

/* In kernels, not in what they call. */
static bool is_replaced(enum ptx_sreg sreg) {
    return sreg >= PTX_SREG_CTAID_X && sreg <= PTX_SREG_NCTAID_Z;
}

/* What a block, a thread or the launch has: a second module has no other. */
static bool is_inner(const struct ptx_var *v) {
    return v->space == PTX_SHARED || v->space == PTX_LOCAL || v->space == PTX_PARAM;
}

static bool may_read(struct look *l, const struct ptx_inst *i, enum ptx_sreg sreg, uint32_t depth) {
    const char *name = telling(sreg);
    if (name) return refuse(l, i->line, "reads ", name);
    if (depth && is_replaced(sreg))
        return refuse(l, i->line, "calls a function that reads ", "its place in the grid");
    return true;
}

static bool may_have(struct look *l, const struct ptx_inst *i, const struct ptx_operand *o,
                     uint32_t depth) {
    if (o->kind == PTX_OPND_SREG) return may_read(l, i, o->sreg, depth);
    if (o->kind == PTX_OPND_FUNC)
        return refuse(l, i->line, "has the address of ", o->func ? o->func->name : "a function");
    if (o->var && !is_inner(o->var))
        return refuse(l, i->line, "has a variable of its module: ", o->var->name);
    for (uint32_t k = 0; k < o->elem_count; k++)
        if (!may_have(l, i, &o->elems[k], depth)) return false;
    return true;
}

/* ---- instructions ---------------------------------------------------------------------------- */

static bool has_word(const struct ptx_inst *i, const char *const *words, size_t count) {
    for (size_t k = 0; k < count; k++)
        if (strstr(i->text, words[k])) return true;
    return false;
}

/* By which another block's work may be waited for. Weak loads see none of it within a launch that
 * has no race. */
static bool is_strong(const struct ptx_inst *i) {
    static const char *const loads[] = {".volatile", ".relaxed", ".acquire", ".mmio", ".cv"};
    static const char *const fences[] = {".gl", ".gpu", ".sys"};
    bool own = i->space == PTX_SHARED || i->space == PTX_LOCAL || i->space == PTX_PARAM;
    if (i->op == PTX_OP_ld || i->op == PTX_OP_ldu) return !own && has_word(i, loads, 5);
    if (i->op == PTX_OP_atom) return !own;
    return (i->op == PTX_OP_fence || i->op == PTX_OP_membar) && has_word(i, fences, 3);
}

/* Of clusters, of grids that begin before others end, and of what launches. */
static const char *of_whole_grid(const struct ptx_inst *i) {
    switch (i->op) {
    case PTX_OP_mapa:
    case PTX_OP_getctarank:
    case PTX_OP_clusterlaunchcontrol:
    case PTX_OP_griddepcontrol: return ptx_op_name((enum ptx_op)i->op);
    case PTX_OP_barrier: return strstr(i->text, ".cluster") ? "barrier.cluster" : NULL;
    default: return NULL;
    }
}

static void note_branch(struct look *l, const struct ptx_func *f, const struct ptx_inst *i) {
    int32_t at = (int32_t)(i - f->insts);
    if (i->op == PTX_OP_bra && ptx_operand_at(i, 0)->target <= at) l->loops = true;
    for (uint32_t k = 0; i->op == PTX_OP_brx && k < i->table_count; k++)
        if (i->table[k] <= at) l->loops = true;
}

static bool may_func(struct look *l, const struct ptx_func *f, uint32_t depth);

static bool may_call(struct look *l, const struct ptx_inst *i, uint32_t depth) {
    const struct ptx_func *f = ptx_operand_at(i, CALLEE)->func;
    if (!f || i->proto) return refuse(l, i->line, "calls a function ", "by its address");
    if (f->linked) f = f->linked;
    if (!f->defined || f->entry)
        return refuse(l, i->line, "calls a function that is not seen: ", f->name);
    if (depth == CALLS_DEEP) return refuse(l, i->line, "calls too deep: ", f->name);
    return may_func(l, f, depth + 1);
}

static bool may_inst(struct look *l, const struct ptx_func *f, const struct ptx_inst *i,
                     uint32_t depth) {
    const char *whole = of_whole_grid(i);
    if (whole) return refuse(l, i->line, "has ", whole);
    for (uint32_t k = 0; k < i->operand_count; k++)
        if ((i->op != PTX_OP_call || k != CALLEE) && !may_have(l, i, &i->operands[k], depth))
            return false;
    note_branch(l, f, i);
    if (!l->waits && is_strong(i)) l->waits = i;
    return i->op != PTX_OP_call || may_call(l, i, depth);
}

static bool may_func(struct look *l, const struct ptx_func *f, uint32_t depth) {
    if (f->unsupported) return refuse(l, 0, "has what is not known: ", f->unsupported);
    for (uint32_t k = 0; k < f->inst_count; k++)
        if (!may_inst(l, f, &f->insts[k], depth)) return false;
    return true;
}

bool subgrid_may(const struct ptx_func *f, char *why, size_t why_bytes) {
    struct look l = {.why = why, .why_bytes = why_bytes};
    if (!f->entry || !f->defined) return refuse(&l, 0, "is no kernel that is seen", "");
    if (f->req_cluster[0] || f->max_cluster || f->explicit_cluster)
        return refuse(&l, 0, "is launched in clusters", "");
    if (f->param_bytes > SUBGRID_PARAM_BYTES) return refuse(&l, 0, "has too many parameters", "");
    if (!may_func(&l, f, 0)) return false;
    if (l.loops && l.waits)
        return refuse(&l, l.waits->line, "may wait for other blocks: a loop and ", l.waits->text);
    return true;
}
