/* SPDX-License-Identifier: Apache-2.0
 *
 * tensormap.replace stores a field of a map (proto/cuda/tensor_map.h); tensormap.cp_fenceproxy
 * copies a map from shared to global memory. Values that are no literals are not checked here,
 * since fields need not fit each other between two changes. A copy by the map checks them
 * (async/tensor.c).
 */
#include "daemon/device/soft/lower/lower_tensor_map.h"

#include <stddef.h>
#include <string.h>

#include "common/err.h"
#include "daemon/device/soft/async/bulk.h"
#include "daemon/device/soft/exec/move.h"
#include "daemon/device/soft/instructions/ptx_tables.h"
#include "daemon/device/soft/isa/dispatch/select.h"
#include "daemon/device/soft/lower/operand.h"
#include "proto/cuda/tensor_map.h"

/* The field that is written, and how its value is converted: PTX counts some things differently. */
struct field {
    const char *name;
    uint8_t type; /* type of the store */
    uint8_t at;   /* offset in bytes */
    /* fields of this name, selected by the operand before the value; 0: one, without that
     * operand */
    uint8_t count;
    int8_t more;    /* added to the value: ranks count from 0, `last` is a size less one */
    uint8_t values; /* number of known literals; 0: any value */
};

#define AT(member) offsetof(struct tensor_map, member)

static const struct field fields[] = {
    {"global_address", PTX_B64, AT(address), 0, 0, 0},
    {"rank", PTX_B8, AT(rank), 0, 1, 0},
    {"box_dim", PTX_B16, AT(box), TENSOR_MAP_RANK, 0, 0},
    {"global_dim", PTX_B32, AT(last), TENSOR_MAP_RANK, -1, 0},
    {"global_stride", PTX_B64, AT(stride), TENSOR_MAP_RANK - 1, 0, 0},
    {"element_stride", PTX_B8, AT(step), TENSOR_MAP_RANK, 0, 0},
    {"elemtype", PTX_B8, AT(type), 0, 0, 13},
    {"interleave_layout", PTX_NONE, 0, 0, 0, 1},
    {"swizzle_mode", PTX_B8, AT(swizzle), 0, 0, 4},
    {"swizzle_atomicity", PTX_NONE, 0, 0, 0, 1},
    {"fill_mode", PTX_B8, AT(fill), 0, 0, 2},
};

/* Types of elements in the order of tensormap.replace. */
static const uint8_t types[] = {
    CU_TENSOR_MAP_DATA_TYPE_UINT8,        CU_TENSOR_MAP_DATA_TYPE_UINT16,
    CU_TENSOR_MAP_DATA_TYPE_UINT32,       CU_TENSOR_MAP_DATA_TYPE_INT32,
    CU_TENSOR_MAP_DATA_TYPE_UINT64,       CU_TENSOR_MAP_DATA_TYPE_INT64,
    CU_TENSOR_MAP_DATA_TYPE_FLOAT16,      CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
    CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ,  CU_TENSOR_MAP_DATA_TYPE_FLOAT64,
    CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,     CU_TENSOR_MAP_DATA_TYPE_TFLOAT32,
    CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ,
};

static const struct field *find_field(const char *text) {
    for (size_t k = 0; k < sizeof(fields) / sizeof(fields[0]); k++) {
        const char *found = strstr(text, fields[k].name);
        if (found && found[-1] == '.' && found[strlen(fields[k].name)] == '.') return &fields[k];
    }
    return NULL;
}

static int32_t added(struct lowering *l, int32_t slot, int more) {
    const struct ptx_operand number = {.kind = PTX_OPND_IMM, .imm = (uint32_t)more};
    struct code_inst add = {.op = PTX_OP_add, .type = PTX_U32, .src = l->inst};
    add.c = add.e = add.d2 = add.pred = CODE_NO_SLOT;
    add.a = slot;
    add.b = operand_source(l, &number, 4, false);
    add.d_bytes = add.a_bytes = 4;
    add.d = lowering_temp(l, 4);
    add.run = isa_select(&add);
    lowering_emit(l, &add);
    return add.d;
}

/* Converts a literal from PTX's numbering to the map's. */
static int32_t literal(struct lowering *l, const struct field *f, const struct ptx_operand *o) {
    struct ptx_operand value = *o;
    if (o->kind != PTX_OPND_IMM || o->imm >= f->values) {
        lowering_fail(l, ERR_ILLEGAL_INSTRUCTION, "the software GPU does not support such tensors");
        return CODE_NO_SLOT;
    }
    if (f->at == AT(type)) value.imm = types[o->imm];
    return operand_source(l, &value, 4, false);
}

static void replace(struct lowering *l, struct code_inst *c, const struct field *f) {
    const struct ptx_inst *i = l->inst;
    const uint32_t bytes = ptx_type_bytes(f->type), last = f->count ? 2 : 1;
    const uint64_t ordinal = f->count ? ptx_operand_at(i, 1)->imm : 0;
    if (i->operand_count != last + 1u || (f->count && ptx_operand_at(i, 1)->kind != PTX_OPND_IMM))
        return lowering_fail(l, ERR_INVALID_PTX, "operands are missing");
    if (f->count && ordinal >= f->count)
        return lowering_fail(l, ERR_INVALID_PTX, "the tensor has no such dimension");
    if (f->type) c->op = PTX_OP_st; /* otherwise there is nothing to change */
    c->type = f->type;
    c->vec = 1;
    c->d_bytes = bytes == 8 ? 8 : 4;
    operand_address(l, ptx_operand_at(i, 0), c);
    c->offset += f->at + (int64_t)(ordinal * bytes);
    c->b = f->values ? literal(l, f, ptx_operand_at(i, last))
                     : operand_source(l, ptx_operand_at(i, last), c->d_bytes, false);
    if (f->more && !l->err) c->b = added(l, c->b, f->more);
    c->run = f->type ? isa_select_access(c) : move_select(c);
}

/* Operands: [global], [shared], 128. */
static void hand_on(struct lowering *l, struct code_inst *c) {
    const struct ptx_operand *size = ptx_operand_at(l->inst, 2);
    if (l->inst->operand_count != 3 || size->kind != PTX_OPND_IMM ||
        size->imm != sizeof(struct tensor_map))
        return lowering_fail(l, ERR_INVALID_PTX, "a tensor map has 128 bytes");
    c->vec = CODE_BULK_FROM;
    c->sub = PTX_SUB_NONE;
    c->a = operand_address_value(l, ptx_operand_at(l->inst, 0));
    c->b = operand_address_value(l, ptx_operand_at(l->inst, 1));
    c->c = operand_source(l, size, 4, false);
    c->run = bulk_copy;
}

void lower_tensor_map(struct lowering *l, struct code_inst *c) {
    const struct field *f = find_field(l->inst->text);
    if (strstr(l->inst->text, ".cp_fenceproxy.")) return hand_on(l, c);
    if (!f) return lowering_fail(l, ERR_ILLEGAL_INSTRUCTION, "not supported by the software GPU");
    replace(l, c, f);
}
