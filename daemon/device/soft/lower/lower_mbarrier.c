/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/device/soft/lower/lower_mbarrier.h"

#include <string.h>

#include "common/err.h"
#include "daemon/device/soft/async/mbarrier.h"
#include "daemon/device/soft/exec/move.h"
#include "daemon/device/soft/lower/operand.h"

static void third(struct lowering *l, struct code_inst *c, uint32_t k, uint32_t bytes) {
    if (ptx_operand_at(l->inst, k)->kind != PTX_OPND_NONE)
        c->b = operand_source(l, ptx_operand_at(l->inst, k), bytes, false);
}

static void result(struct lowering *l, struct code_inst *c, uint32_t bytes) {
    const struct ptx_operand *o = ptx_operand_at(l->inst, 0);
    if (o->kind == PTX_OPND_NONE) return;
    c->d = operand_source(l, o, bytes, false);
    if (c->d < 0) lowering_fail(l, ERR_INVALID_PTX, "the destination must be a register");
}

static enum code_mbarrier arrival(const char *text) {
    bool drop = strstr(text, ".arrive_drop");
    if (strstr(text, ".expect_tx"))
        return drop ? CODE_MBARRIER_DROP_EXPECT : CODE_MBARRIER_ARRIVE_EXPECT;
    return drop ? CODE_MBARRIER_DROP : CODE_MBARRIER_ARRIVE;
}

void lower_mbarrier(struct lowering *l, struct code_inst *c) {
    const char *text = l->inst->text;
    enum code_mbarrier what;
    if (strstr(text, ".pending_count")) {
        what = CODE_MBARRIER_PENDING;
        result(l, c, 4);
        third(l, c, 1, 8);
    } else if (strstr(text, "_wait.")) {
        what = CODE_MBARRIER_WAIT;
        c->vec = strstr(text, ".parity") != NULL;
        result(l, c, LOWERING_PRED);
        operand_address(l, ptx_operand_at(l->inst, 1), c);
        third(l, c, 2, c->vec ? 4 : 8);
        if (c->d == CODE_NO_SLOT) lowering_fail(l, ERR_INVALID_PTX, "operands are missing");
    } else if (strstr(text, ".arrive")) {
        what = arrival(text);
        result(l, c, 8);
        operand_address(l, ptx_operand_at(l->inst, 1), c);
        third(l, c, 2, 4);
    } else {
        what = strstr(text, ".init")        ? CODE_MBARRIER_INIT
               : strstr(text, ".inval")     ? CODE_MBARRIER_INVAL
               : strstr(text, ".expect_tx") ? CODE_MBARRIER_EXPECT
                                            : CODE_MBARRIER_COMPLETE;
        operand_address(l, ptx_operand_at(l->inst, 0), c);
        third(l, c, 1, 4);
    }
    c->run = mbarrier_select(what);
}

/* Lowers cp.async.mbarrier.arrive. All copies before it are already done. Without .noinc the
 * expected count does not include this arrival: the instruction adds one to the pending count and
 * takes it off again, so nothing happens. */
void lower_mbarrier_copies(struct lowering *l, struct code_inst *c) {
    c->space = l->inst->space;
    c->run = move_select(c);
    if (!strstr(l->inst->text, ".noinc")) return;
    operand_address(l, ptx_operand_at(l->inst, 0), c);
    c->run = mbarrier_select(CODE_MBARRIER_ARRIVE);
}
