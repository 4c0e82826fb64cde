/* SPDX-License-Identifier: Apache-2.0
 *
 * clusterlaunchcontrol. A request to cancel a cluster that has not begun may always fail, as it
 * does when no such cluster is left. Here every request fails, and each cluster of the grid runs by
 * itself. The answer is sixteen zeros, which are stored like the value of st.async (async/bulk.c).
 */
#include "daemon/device/soft/lower/lower_cancel.h"

#include <string.h>

#include "common/err.h"
#include "daemon/device/soft/async/bulk.h"
#include "daemon/device/soft/exec/move.h"
#include "daemon/device/soft/lower/operand.h"

#define ANSWER_BYTES 16

static bool has(const struct lowering *l, const char *word) {
    return strstr(l->inst->text, word);
}

/* Lowers an offset in the block's shared memory, or a generic address. */
static int32_t place(struct lowering *l, struct code_inst *c, uint32_t k, uint32_t flag) {
    const struct ptx_operand *o = ptx_operand_at(l->inst, k);
    if (has(l, ".shared::cta") || o->var) c->vec |= (uint8_t)flag;
    return operand_address_value(l, o);
}

/* Lowers a request: [answer], [barrier]. */
static void ask(struct lowering *l, struct code_inst *c) {
    const struct ptx_operand zero = {.kind = PTX_OPND_IMM};
    struct code_extra *x = lowering_extra(l, c, 0, 1);
    if (!x) return;
    c->vec = has(l, ".multicast::cluster::all") ? CODE_BULK_MASK : 0;
    c->sub = PTX_SUB_NONE;
    c->a = place(l, c, 0, CODE_BULK_TO);
    c->e = place(l, c, 1, CODE_BULK_BARRIER);
    x->uses[x->use_count++] =
        (struct code_elem){operand_source(l, &zero, ANSWER_BYTES, false), ANSWER_BYTES};
    c->run = bulk_store;
}

/* Lowers a query for the index {x, y, z, _} of the cancelled cluster's first block. No cluster is
 * ever cancelled here, so programs do not use the result. */
static void take_index(struct lowering *l, struct code_inst *c) {
    static const char *const words[] = {"::x.", "::y.", "::z."};
    const struct ptx_operand *d = ptx_operand_at(l->inst, 0);
    const bool all = d->kind == PTX_OPND_VEC;
    struct code_extra *x = lowering_extra(l, c, 4, 0);
    if (!x) return;
    if (all && d->elem_count != 4)
        return lowering_fail(l, ERR_INVALID_PTX, "an index has four elements");
    for (uint32_t k = 0; k < 4; k++) {
        const bool wanted = all ? d->elems[k].kind != PTX_OPND_NONE : k < 3 && has(l, words[k]);
        x->defs[k] = (struct code_elem){CODE_NO_SLOT, 4};
        if (wanted) x->defs[k].slot = operand_dest(l, all ? &d->elems[k] : d);
        if (wanted && operand_reg_bytes(l, all ? &d->elems[k] : d) != 4)
            return lowering_fail(l, ERR_INVALID_PTX, "an index has 32 bits");
    }
    x->def_count = 4;
    c->d_bytes = 4;
    c->run = move_select(c);
}

void lower_cancel(struct lowering *l, struct code_inst *c) {
    const struct ptx_inst *i = l->inst;
    if (i->operand_count != 2) return lowering_fail(l, ERR_INVALID_PTX, "operands are missing");
    if (has(l, ".try_cancel.")) return ask(l, c);
    c->a = operand_source(l, ptx_operand_at(i, 1), ANSWER_BYTES, false);
    c->type = PTX_B128;
    if (has(l, ".get_first_ctaid")) return take_index(l, c);
    c->d = operand_dest(l, ptx_operand_at(i, 0));
    c->d_bytes = (uint8_t)operand_reg_bytes(l, ptx_operand_at(i, 0));
    if (c->d_bytes != LOWERING_PRED)
        return lowering_fail(l, ERR_INVALID_PTX, "the result of is_canceled must be a predicate");
    c->run = move_select(c);
}
