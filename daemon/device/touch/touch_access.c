/* SPDX-License-Identifier: Apache-2.0
 *
 * Determines where instructions read and write. Only global memory matters, because a block's own
 * memory begins anew with the launch.
 */
#include "daemon/device/touch/touch_access.h"
#include "daemon/device/soft/instructions/ptx_tables.h"

#include <string.h>

#define SHARED_MOST (1u << 20) /* more than any block has */

/* ---- places ---------------------------------------------------------------------------------- */

enum place {
    PLACE_GLOBAL, /* at the address */
    PLACE_VARIABLES,
    PLACE_INNER, /* memory of the block, the thread or the launch */
    PLACE_ANY,   /* unknown */
};

static bool is_within(const struct touch_value *v, uint64_t bytes, uint64_t most) {
    return v->lo <= most && v->len <= most - v->lo && bytes <= most - v->lo - v->len;
}

/* The place of a generic address, or of one of global memory. */
static enum place place_of(const struct touch_value *at, uint64_t bytes) {
    if (!at->var) return at->len > UINT64_MAX - bytes - at->lo ? PLACE_ANY : PLACE_GLOBAL;
    bool global = at->var->space == PTX_GLOBAL || at->var->space == PTX_CONST;
    uint64_t most = at->var->bytes || global ? at->var->bytes : SHARED_MOST;
    if (!is_within(at, bytes, most)) return PLACE_ANY;
    return global ? PLACE_VARIABLES : PLACE_INNER;
}

static bool is_inner(enum ptx_space space) {
    return space == PTX_SHARED || space == PTX_LOCAL || space == PTX_PARAM || space == PTX_CLUSTER;
}

/* The address in [register + offset], [variable + offset], [number]. */
static struct touch_value address(struct touch_walk *w, const struct touch_state *s,
                                  const struct ptx_inst *i, const struct ptx_operand *o) {
    struct touch_value at = touch_number((uint64_t)o->offset, 64);
    if (o->kind != PTX_OPND_ADDR) {
        touch_refuse(w, i, NULL);
    } else if (o->reg >= 0) { /* with an offset of the register's width */
        if (touch_reg_bits(s->func, o->reg) != 64)
            touch_refuse(w, i, "has an address of 32 bits");
        else
            at = touch_add(&s->values[o->reg], &at, 64);
    } else if (o->var) {
        at.var = o->var->linked ? o->var->linked : o->var;
    } else {
        at = touch_number(o->imm + (uint64_t)o->offset, 64);
    }
    return at;
}

static void extend(struct touch_span *span, const struct touch_value *at, uint64_t bytes) {
    uint64_t hi = at->lo + at->len + bytes - 1;
    if (span->hi < span->lo) *span = (struct touch_span){at->lo, hi};
    if (at->lo < span->lo) span->lo = at->lo;
    if (hi > span->hi) span->hi = hi;
}

static void note_read(struct touch_walk *w, const struct ptx_inst *i, const struct touch_value *at,
                      uint64_t bytes) {
    switch (place_of(at, bytes)) {
    case PLACE_GLOBAL: extend(&w->reads[i - w->func->insts], at, bytes); break;
    case PLACE_VARIABLES: w->reads_variables = true; break;
    case PLACE_INNER: break;
    case PLACE_ANY: w->reads_all = true; break;
    }
}

static void note_write(struct touch_walk *w, const struct ptx_inst *i, const struct touch_value *at,
                       uint64_t bytes, bool tainted) {
    switch (place_of(at, bytes)) {
    case PLACE_GLOBAL:
        if (tainted || at->tainted)
            touch_refuse(w, i, "may write other values when the kernel is repeated");
        extend(&w->writes[i - w->func->insts], at, bytes);
        break;
    case PLACE_VARIABLES: touch_refuse(w, i, "writes a variable of its module"); break;
    case PLACE_INNER: w->inner_tainted |= tainted || at->tainted; break;
    case PLACE_ANY: touch_refuse(w, i, "may write anywhere"); break;
    }
}

/* ---- loads and stores ------------------------------------------------------------------------ */

/* True when others may wait for it, or write it meanwhile. */
static bool is_strong(const struct ptx_inst *i) {
    static const char *const words[] = {".volatile", ".relaxed", ".acquire", ".release", ".mmio"};
    for (uint32_t k = 0; k < sizeof(words) / sizeof(words[0]); k++)
        if (strstr(i->text, words[k])) return true;
    return false;
}

static enum ptx_type type_of(const struct ptx_inst *i) {
    return i->type_count ? (enum ptx_type)i->types[i->type_count - 1] : PTX_NONE;
}

static uint64_t bytes_of(struct touch_walk *w, const struct ptx_inst *i) {
    uint64_t bytes = (uint64_t)ptx_type_bytes(type_of(i)) * (i->vec ? i->vec : 1);
    if (!bytes) touch_refuse(w, i, NULL);
    return bytes ? bytes : 1;
}

/* True for a parameter of the launch, as the kernel declares it. */
static bool is_parameter(const struct ptx_func *f, const struct ptx_var *v) {
    for (uint32_t k = 0; k < f->param_count; k++)
        if (f->params[k] == v) return true;
    return false;
}

/* An unknown loaded value of this type. */
static struct touch_value loaded(const struct ptx_func *f, const struct ptx_operand *d,
                                 enum ptx_type t) {
    uint32_t have = touch_reg_bits(f, d->reg), bits = 8 * ptx_type_bytes(t);
    struct touch_value v = touch_any(bits < have ? bits : have);
    char class = ptx_type_class(t);
    if (bits >= have || class == 'f' || class == 'x') return touch_any(have);
    return touch_extend(&v, bits, have, class == 's');
}

static void give_loaded(struct touch_walk *w, struct touch_state *s, const struct ptx_inst *i,
                        const struct ptx_operand *d, bool tainted) {
    for (uint32_t k = 0; d->kind == PTX_OPND_VEC && k < d->elem_count; k++)
        give_loaded(w, s, i, &d->elems[k], tainted);
    if (d->kind != PTX_OPND_REG || d->reg < 0) return;
    struct touch_value v = loaded(s->func, d, type_of(i));
    v.tainted = tainted;
    touch_store(w, s, i, d, v);
}

static void load_number(struct touch_walk *w, struct touch_state *s, const struct ptx_inst *i,
                        const struct ptx_operand *d, uint64_t at, enum ptx_type t) {
    uint32_t bytes = ptx_type_bytes(t), have = touch_reg_bits(s->func, d->reg);
    uint64_t number = 0;
    if (bytes > 8 || at > w->launch->param_bytes || bytes > w->launch->param_bytes - at)
        return give_loaded(w, s, i, d, false);
    memcpy(&number, (const char *)w->launch->params + at, bytes);
    struct touch_value v = touch_number(number, 8 * bytes);
    if (8 * bytes < have) v = touch_extend(&v, 8 * bytes, have, ptx_type_class(t) == 's');
    touch_store(w, s, i, d, v);
}

/* Loads a parameter, whose value is known. */
static void load_parameter(struct touch_walk *w, struct touch_state *s, const struct ptx_inst *i) {
    const struct ptx_operand *d = ptx_operand_at(i, 0), *a = ptx_operand_at(i, 1);
    enum ptx_type t = type_of(i);
    struct touch_value from = touch_number((uint64_t)a->offset, 64);
    from.var = a->var;
    if (a->kind == PTX_OPND_ADDR && a->reg >= 0)
        from = touch_add(&s->values[a->reg], &from, touch_reg_bits(s->func, a->reg));
    if (from.len || !from.var || !is_parameter(w->func, from.var))
        return give_loaded(w, s, i, d, touch_operand_tainted(s, a) || w->inner_was);
    uint64_t at = from.var->offset + from.lo;
    if (d->kind == PTX_OPND_REG) return load_number(w, s, i, d, at, t);
    for (uint32_t k = 0; d->kind == PTX_OPND_VEC && k < d->elem_count; k++)
        if (d->elems[k].kind == PTX_OPND_REG)
            load_number(w, s, i, &d->elems[k], at + k * ptx_type_bytes(t), t);
}

static void load(struct touch_walk *w, struct touch_state *s, const struct ptx_inst *i) {
    const struct ptx_operand *d = ptx_operand_at(i, 0), *a = ptx_operand_at(i, 1);
    if (i->space == PTX_PARAM) return load_parameter(w, s, i);
    bool tainted = touch_operand_tainted(s, a) || touch_guard_tainted(s, i);
    if (is_inner((enum ptx_space)i->space)) return give_loaded(w, s, i, d, tainted || w->inner_was);
    if (i->space == PTX_CONST) {
        w->reads_variables = true;
        return give_loaded(w, s, i, d, tainted);
    }
    if (is_strong(i)) return touch_refuse(w, i, "may observe the progress of other threads");
    struct touch_value at = address(w, s, i, a);
    note_read(w, i, &at, bytes_of(w, i));
    give_loaded(w, s, i, d, tainted || (at.var && w->inner_was));
}

static void store(struct touch_walk *w, struct touch_state *s, const struct ptx_inst *i) {
    const struct ptx_operand *a = ptx_operand_at(i, 0);
    bool data = touch_operand_tainted(s, ptx_operand_at(i, 1)), when = touch_guard_tainted(s, i);
    if (is_inner((enum ptx_space)i->space)) {
        w->inner_tainted |= data || when || touch_operand_tainted(s, a);
        return;
    }
    if (is_strong(i)) return touch_refuse(w, i, "may show its progress to other threads");
    struct touch_value at = address(w, s, i, a);
    note_write(w, i, &at, bytes_of(w, i), when || data);
}

/* ---- atomics --------------------------------------------------------------------------------- */

/* True when the result does not depend on the order of operations. */
static bool is_commutative(const struct ptx_inst *i) {
    char class = ptx_type_class(type_of(i));
    if (class != 'u' && class != 's' && class != 'b') return false;
    switch (i->sub) {
    case PTX_SUB_ADD:
    case PTX_SUB_AND:
    case PTX_SUB_OR:
    case PTX_SUB_XOR:
    case PTX_SUB_MIN:
    case PTX_SUB_MAX: return true;
    default: return false;
    }
}

/* True when all atomics of the kernel do the same, so that the order in shared memory does not
 * matter. */
static bool is_only_kind(const struct touch_walk *w, const struct ptx_inst *i) {
    for (uint32_t k = 0; k < w->func->inst_count; k++) {
        const struct ptx_inst *o = &w->func->insts[k];
        if ((o->op == PTX_OP_atom || o->op == PTX_OP_red) && o->sub != i->sub) return false;
    }
    return true;
}

/* Handles an atomic; its result depends on what others have done so far. */
static void atomic(struct touch_walk *w, struct touch_state *s, const struct ptx_inst *i) {
    const struct ptx_operand *a = ptx_operand_at(i, i->op == PTX_OP_atom);
    enum place place = PLACE_INNER;
    if (!is_inner((enum ptx_space)i->space)) {
        struct touch_value at = address(w, s, i, a);
        place = place_of(&at, bytes_of(w, i));
    }
    if (place != PLACE_INNER) return touch_refuse(w, i, "reads and writes the same memory");
    bool tainted = touch_guard_tainted(s, i);
    for (uint32_t k = 0; k < i->operand_count; k++)
        tainted |= (i->op != PTX_OP_atom || k) && touch_operand_tainted(s, &i->operands[k]);
    w->inner_tainted |= tainted || !is_commutative(i) || !is_only_kind(w, i);
    if (i->op == PTX_OP_atom) touch_store_any(w, s, i, ptx_operand_at(i, 0), true);
}

/* ---- other instructions ---------------------------------------------------------------------- */

/* Handles copies from global to shared memory. */
static void copy_async(struct touch_walk *w, struct touch_state *s, const struct ptx_inst *i) {
    static const char *const waits[] = {"cp.async.commit_group", "cp.async.wait_all",
                                        "cp.async.wait_group"};
    const struct ptx_operand *bytes = ptx_operand_at(i, 2);
    for (uint32_t k = 0; k < sizeof(waits) / sizeof(waits[0]); k++)
        if (!strcmp(i->text, waits[k])) return;
    if ((strncmp(i->text, "cp.async.ca.", 12) != 0 && strncmp(i->text, "cp.async.cg.", 12) != 0) ||
        bytes->kind != PTX_OPND_IMM)
        return touch_refuse(w, i, NULL);
    struct touch_value at = address(w, s, i, ptx_operand_at(i, 1));
    note_read(w, i, &at, bytes->imm);
    bool tainted = touch_guard_tainted(s, i);
    for (uint32_t k = 0; k < i->operand_count; k++)
        tainted |= touch_operand_tainted(s, &i->operands[k]);
    w->inner_tainted |= tainted;
}

/* Handles matrix instructions on shared memory; those on global memory are refused. */
static void matrix(struct touch_walk *w, struct touch_state *s, const struct ptx_inst *i) {
    bool loads = i->op == PTX_OP_ldmatrix || !strncmp(i->text, "wmma.load.", 10);
    bool stores = i->op == PTX_OP_stmatrix || !strncmp(i->text, "wmma.store.", 11);
    bool tainted = touch_guard_tainted(s, i) || (loads && w->inner_was);
    if ((loads || stores) && !is_inner((enum ptx_space)i->space)) return touch_refuse(w, i, NULL);
    for (uint32_t k = stores ? 0 : 1; k < i->operand_count; k++)
        tainted |= touch_operand_tainted(s, &i->operands[k]);
    if (stores)
        w->inner_tainted |= tainted;
    else
        touch_store_any(w, s, i, ptx_operand_at(i, 0), tainted);
}

/* Refuses ordering between blocks, launches and the host. Ordering within one block is not visible
 * outside. */
static void order(struct touch_walk *w, const struct ptx_inst *i) {
    if (strcmp(i->text, "membar.cta") != 0 && !strstr(i->text, ".cta"))
        touch_refuse(w, i, "may order writes that others observe");
}

bool touch_access(struct touch_walk *w, struct touch_state *s, const struct ptx_inst *i) {
    switch (i->op) {
    case PTX_OP_ldu:
    case PTX_OP_ld: load(w, s, i); return true;
    case PTX_OP_st: store(w, s, i); return true;
    case PTX_OP_atom:
    case PTX_OP_red: atomic(w, s, i); return true;
    case PTX_OP_cp: copy_async(w, s, i); return true;
    case PTX_OP_fence:
    case PTX_OP_membar: order(w, i); return true;
    case PTX_OP_ldmatrix:
    case PTX_OP_stmatrix:
    case PTX_OP_wmma: matrix(w, s, i); return true;
    default: return false;
    }
}
