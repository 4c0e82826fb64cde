/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/device/soft/lower/lower_bulk.h"

#include <string.h>

#include "common/err.h"
#include "daemon/device/soft/async/bulk.h"
#include "daemon/device/soft/async/tensor.h"
#include "daemon/device/soft/exec/move.h"
#include "daemon/device/soft/lower/operand.h"

static bool begins(const char *text, const char *with) {
    return strncmp(text, with, strlen(with)) == 0;
}

/* Adds a 16-bit mask after the other operands: of blocks that get a copy, or of bytes. */
static void use_mask(struct lowering *l, struct code_inst *c, const struct ptx_operand *o) {
    struct code_extra *x = lowering_extra(l, c, 0, 1);
    if (!x) return;
    x->uses[0] = (struct code_elem){operand_source(l, o, 2, false), 2};
    x->use_count = 1;
}

/* ---- tensors ----------------------------------------------------------------------------------
 */

/* Address of the map in [map, {coordinates}]. */
static int32_t map_address(struct lowering *l, const struct ptx_operand *o) {
    struct ptx_operand plain = *o;
    plain.elem_count = 0;
    if (!o->var) return operand_address_value(l, &plain);
    plain.kind = PTX_OPND_VAR;
    return operand_source(l, &plain, 8, false);
}

/* Appends a, b, ... of a vector operand, or a single operand, each `bytes` wide, to x->uses. Fails
 * unless there are `count`. */
static void numbers(struct lowering *l, const struct ptx_operand *o, uint32_t count, uint8_t bytes,
                    struct code_extra *x) {
    const bool list = o && o->kind == PTX_OPND_VEC;
    if (!o || (list ? o->elem_count : 1) != count)
        return lowering_fail(l, ERR_INVALID_PTX,
                             "the number of coordinates differs from the tensor's dimensions");
    for (uint32_t k = 0; k < count; k++)
        x->uses[x->use_count++] =
            (struct code_elem){operand_source(l, list ? &o->elems[k] : o, bytes, false), bytes};
}

/* True if the form is supported. Excluded are groups of two blocks, which belong to tcgen05, and
 * im2col::w, which counts pixels in another way. */
static bool has_tensor_form(const char *text, uint32_t rank) {
    return rank >= 1 && rank <= 5 && !strstr(text, "im2col::w") && !strstr(text, "cta_group");
}

/* `text` follows "tensor.", for example "2d.shared::cluster.global.tile...". */
static void lower_tensor(struct lowering *l, struct code_inst *c, const char *text) {
    const bool up = begins(text + 3, "shared"), masked = strstr(text, ".multicast::cluster");
    const bool rows = strstr(text, ".tile::"), columns = strstr(text, ".im2col");
    const struct ptx_operand *map = ptx_operand_at(l->inst, up ? 1 : 0),
                             *place = ptx_operand_at(l->inst, up ? 0 : 1);
    const uint32_t rank = (uint32_t)(text[0] - '0');
    if (!has_tensor_form(text, rank)) return lowering_refuse(l);
    if (map->kind != PTX_OPND_ADDR)
        return lowering_fail(l, ERR_INVALID_PTX, "an address is missing");
    struct code_extra *x = lowering_extra(l, c, 0, 10);
    if (!x) return;
    c->vec = (uint8_t)((up ? CODE_BULK_BARRIER : 0) | (masked ? CODE_BULK_MASK : 0) |
                       (rows ? CODE_BULK_ROWS : 0) | (columns ? CODE_BULK_COLUMNS : 0));
    c->d_bytes = (uint8_t)rank;
    c->a = operand_address_value(l, place);
    c->b = map_address(l, map);
    numbers(l, map->elem_count == 1 ? &map->elems[0] : NULL, rows ? 5 : rank, 4, x);
    if (up) c->e = operand_address_value(l, ptx_operand_at(l->inst, 2));
    if (up && columns && rank > 2) numbers(l, ptx_operand_at(l->inst, 3), rank - 2, 2, x);
    if (masked) numbers(l, ptx_operand_at(l->inst, columns ? 4 : 3), 1, 2, x);
    c->run = tensor_copy;
}

/* Adds the operands that say how many bytes at both ends of the copy are ignored; they precede the
 * barrier. */
static void use_ends(struct lowering *l, struct code_inst *c) {
    struct code_extra *x = lowering_extra(l, c, 0, 2);
    if (!x) return;
    c->vec |= CODE_BULK_INNER;
    for (uint32_t k = 3; k < 5; k++)
        numbers(l, ptx_operand_at(l->inst, k), 1, 4, x);
}

void lower_bulk(struct lowering *l, struct code_inst *c) {
    const char *text = strstr(l->inst->text, ".bulk.") + strlen(".bulk.");
    const bool up = begins(text, "shared"), down = begins(text, "global.");
    c->run = move_select(c); /* does nothing, unless a form below moves data */
    if (begins(text, "commit_group") || begins(text, "wait_group") || begins(text, "prefetch."))
        return;
    if (begins(text, "tensor.")) return lower_tensor(l, c, text + strlen("tensor."));
    if (!up && !down) return lowering_refuse(l);
    const bool within = up && strstr(text, ".shared::cta.mbarrier");
    c->vec = (uint8_t)((up ? CODE_BULK_TO | CODE_BULK_BARRIER : 0) |
                       (down || within ? CODE_BULK_FROM : 0));
    c->a = operand_address_value(l, ptx_operand_at(l->inst, 0));
    c->b = operand_address_value(l, ptx_operand_at(l->inst, 1));
    c->c = operand_source(l, ptx_operand_at(l->inst, 2), 4, false);
    const bool inner = strstr(text, ".ignore_oob");
    if (up) c->e = operand_address_value(l, ptx_operand_at(l->inst, inner ? 5 : 3));
    if (inner) use_ends(l, c);
    if (strstr(text, ".multicast::cluster")) use_mask(l, c, ptx_operand_at(l->inst, 4));
    if (strstr(text, ".cp_mask"))
        use_mask(l, c, ptx_operand_at(l->inst, l->inst->operand_count - 1u));
    c->run = bulk_copy;
}

bool lower_is_async(const struct ptx_inst *i) {
    return i->operand_count == 3 && strstr(i->text, ".async.");
}

/* Lowers an address in the cluster's shared memory: an offset, or a generic address. */
static int32_t place(struct lowering *l, struct code_inst *c, uint32_t k, uint32_t flag) {
    const struct ptx_operand *o = ptx_operand_at(l->inst, k);
    if (l->inst->space == PTX_CLUSTER || o->var) c->vec |= (uint8_t)flag;
    return operand_address_value(l, o);
}

void lower_async(struct lowering *l, struct code_inst *c) {
    const struct ptx_operand *value = ptx_operand_at(l->inst, 1);
    const bool list = value->kind == PTX_OPND_VEC;
    const uint32_t count = list ? value->elem_count : 1, bytes = operand_lane_bytes(c->type);
    struct code_extra *x = lowering_extra(l, c, 0, count);
    if (!x) return;
    c->vec = 0;
    c->a = place(l, c, 0, CODE_BULK_TO);
    c->e = place(l, c, 2, CODE_BULK_BARRIER);
    for (; x->use_count < count; x->use_count++) {
        const struct ptx_operand *o = list ? &value->elems[x->use_count] : value;
        x->uses[x->use_count] =
            (struct code_elem){operand_source(l, o, bytes, false), (uint8_t)bytes};
    }
    c->run = bulk_store;
}

bool lower_is_fill(const struct ptx_inst *i) {
    return begins(i->text, "st.bulk");
}

/* Operands: [to], bytes, 0. */
void lower_fill(struct lowering *l, struct code_inst *c) {
    const struct ptx_operand *to = ptx_operand_at(l->inst, 0), *value = ptx_operand_at(l->inst, 2);
    c->vec = l->inst->space == PTX_SHARED || to->var ? CODE_BULK_TO : 0;
    c->a = operand_address_value(l, to);
    c->c = operand_source(l, ptx_operand_at(l->inst, 1), 8, false);
    if (value->kind != PTX_OPND_IMM || value->imm)
        lowering_fail(l, ERR_INVALID_PTX, "only zeros can be stored with this instruction");
    c->run = bulk_fill;
}
