/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks a kernel and the functions that it calls, instruction by instruction.
 */
#include "daemon/device/subgrid/subgrid.h"

#include <stdio.h>
#include <string.h>

#include "daemon/device/soft/instructions/ptx_tables.h"
#include "daemon/device/subgrid/subgrid_wait.h"

#define CALLS_DEEP 8
#define INSTS_MOST (1u << 20) /* including those of called functions, once for each call */
#define CALLEE 1              /* the operand of a call that names the function */

struct look {
    /* The function's latest instruction that observes other blocks, or a call with one. */
    const struct ptx_inst *sees;
    uint32_t left; /* instructions that may still be checked */
    char *why;
    size_t why_bytes;
};

static bool refuse(struct look *l, uint32_t line, const char *what, const char *name) {
    snprintf(l->why, l->why_bytes, "line %u: the kernel %s%.60s", line, what, name);
    return false;
}

/* ---- operands -------------------------------------------------------------------------------- */

/* Names a register that differs in a part, or that belongs to the whole grid, except the replaced
 * ones. */
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

/* True for registers that are replaced in kernels, though not in called functions. */
static bool is_replaced(enum ptx_sreg sreg) {
    return sreg >= PTX_SREG_CTAID_X && sreg <= PTX_SREG_NCTAID_Z;
}

/* True for memory of a block, a thread or the launch, which the second module does not duplicate.
 */
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
        return refuse(l, i->line, "takes the address of ", o->func ? o->func->name : "a function");
    if (o->var && !is_inner(o->var))
        return refuse(l, i->line, "uses a variable of its module: ", o->var->name);
    for (uint32_t k = 0; k < o->elem_count; k++)
        if (!may_have(l, i, &o->elems[k], depth)) return false;
    return true;
}

/* ---- instructions ---------------------------------------------------------------------------- */

/* Names an instruction about clusters, overlapping grids, or launches. */
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

static bool may_func(struct look *l, const struct ptx_func *f, uint32_t depth);

static bool may_call(struct look *l, const struct ptx_inst *i, uint32_t depth) {
    const struct ptx_func *f = ptx_operand_at(i, CALLEE)->func;
    if (!f || i->proto) return refuse(l, i->line, "calls a function ", "by its address");
    if (f->linked) f = f->linked;
    if (!f->defined || f->entry)
        return refuse(l, i->line, "calls a function of another module: ", f->name);
    if (depth == CALLS_DEEP) return refuse(l, i->line, "nests calls too deeply: ", f->name);
    return may_func(l, f, depth + 1);
}

/* Refuses a loop that may wait for another block. Repeating a call repeats the instructions in it.
 */
static bool may_wait(struct look *l, const struct subgrid_wait *w, const struct ptx_inst *i) {
    if (subgrid_wait_sees(w, i)) l->sees = i;
    if (!l->sees || !subgrid_wait_again(w, i)) return true;
    return refuse(l, l->sees->line, "may wait for other blocks, because it repeats ",
                  l->sees->text);
}

static bool may_inst(struct look *l, const struct subgrid_wait *w, const struct ptx_inst *i,
                     uint32_t depth) {
    const char *whole = of_whole_grid(i);
    if (!l->left--) return refuse(l, i->line, "takes too long to analyze", "");
    if (whole) return refuse(l, i->line, "has ", whole);
    for (uint32_t k = 0; k < i->operand_count; k++)
        if ((i->op != PTX_OP_call || k != CALLEE) && !may_have(l, i, &i->operands[k], depth))
            return false;
    const struct ptx_inst *seen = l->sees;
    l->sees = NULL;
    bool may = (i->op != PTX_OP_call || may_call(l, i, depth)) && may_wait(l, w, i);
    if (!l->sees) l->sees = seen;
    return may;
}

static bool may_func(struct look *l, const struct ptx_func *f, uint32_t depth) {
    struct subgrid_wait w;
    if (f->unsupported) return refuse(l, 0, "contains an unknown instruction: ", f->unsupported);
    if (subgrid_wait_init(&w, f)) return refuse(l, 0, "is too large to analyze", "");
    bool may = true;
    for (uint32_t k = 0; may && k < f->inst_count; k++)
        may = may_inst(l, &w, &f->insts[k], depth);
    subgrid_wait_finish(&w);
    return may;
}

bool subgrid_may(const struct ptx_func *f, char *why, size_t why_bytes) {
    struct look l = {.left = INSTS_MOST, .why = why, .why_bytes = why_bytes};
    if (!f->entry || !f->defined) return refuse(&l, 0, "is not a kernel of this module", "");
    if (f->req_cluster[0] || f->max_cluster || f->explicit_cluster)
        return refuse(&l, 0, "is launched in clusters", "");
    if (f->param_bytes > SUBGRID_PARAM_BYTES) return refuse(&l, 0, "has too many parameters", "");
    return may_func(&l, f, 0);
}
