/* SPDX-License-Identifier: Apache-2.0
 *
 * Turns a PTX function into code: places its local memory, lowers each instruction, allocates
 * registers and turns branch targets into indices of the code.
 */
#include "daemon/device/soft/decode/decode.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "daemon/device/soft/decode/regalloc.h"
#include "daemon/device/soft/lower/lower.h"
#include "daemon/device/soft/lower/operand.h"

static void place_var(struct lowering *l, struct ptx_var *v) {
    uint64_t align = v->align ? v->align : 1;
    uint64_t at = (l->local_bytes + align - 1) & ~(align - 1);
    if (align > 4096 || (align & (align - 1)) || v->bytes > CODE_LOCAL_MAX ||
        at + v->bytes > CODE_LOCAL_MAX) {
        lowering_fail(l, ERR_ILLEGAL_INSTRUCTION, "the function needs too much local memory (%s)",
                      v->name);
        return;
    }
    v->offset = at;
    l->local_bytes = (uint32_t)(at + v->bytes);
    if (align > l->local_align) l->local_align = (uint32_t)align;
}

static struct code_formal *make_formals(struct lowering *l, struct ptx_var **vars, uint32_t count) {
    struct code_formal *formals = arena_calloc(l->arena, (size_t)count + 1, sizeof(*formals));
    if (!formals) {
        lowering_fail(l, -ENOMEM, "out of memory");
        return NULL;
    }
    for (uint32_t i = 0; i < count && !l->err; i++) {
        place_var(l, vars[i]);
        formals[i].offset = (uint32_t)vars[i]->offset;
        formals[i].bytes = (uint32_t)vars[i]->bytes;
    }
    return formals;
}

static void lay_out(struct lowering *l, struct code_func *out) {
    struct ptx_func *f = l->func;
    l->local_align = 16;
    if (!f->entry) {
        out->params = make_formals(l, f->params, f->param_count);
        out->rets = make_formals(l, f->rets, f->ret_count);
        out->param_count = f->param_count;
        out->ret_count = f->ret_count;
    }
    for (uint32_t i = 0; i < f->var_count && !l->err; i++)
        if (f->vars[i]->space == PTX_LOCAL || f->vars[i]->space == PTX_PARAM)
            place_var(l, f->vars[i]);
    out->local_bytes = (l->local_bytes + 15) & ~15u;
}

static void add_registers(struct lowering *l) {
    struct ptx_func *f = l->func;
    l->reg_bytes = malloc(f->reg_count + 64);
    l->reg_room = f->reg_count + 64;
    if (!l->reg_bytes) {
        lowering_fail(l, -ENOMEM, "out of memory");
        return;
    }
    for (uint32_t i = 0; i < f->reg_count; i++) {
        uint32_t bytes = operand_lane_bytes(f->regs[i].type);
        l->reg_bytes[i] = (uint8_t)bytes;
    }
    l->reg_count = f->reg_count;
}

/* Lowers all instructions. `map` gets the index in the code at which each of them begins. */
static void lower_body(struct lowering *l, int32_t *map) {
    for (uint32_t i = 0; i < l->func->inst_count && !l->err; i++) {
        map[i] = (int32_t)l->count;
        lower_inst(l, &l->func->insts[i]);
    }
    map[l->func->inst_count] = (int32_t)l->count;
    l->inst = NULL;
    struct code_inst end = {.op = PTX_OP_ret}; /* reaching the end of the function returns */
    end.d = end.a = end.b = end.c = end.e = end.d2 = end.pred = CODE_NO_SLOT;
    lowering_emit(l, &end);
}

static void resolve_targets(struct lowering *l, const int32_t *map) {
    for (uint32_t i = 0; i < l->count; i++) {
        struct code_inst *c = &l->insts[i];
        if (c->run) continue;
        if (c->op == PTX_OP_bra) c->target = map[c->target];
        if (c->op == PTX_OP_brx) {
            const struct code_extra *x = c->extra;
            for (uint32_t k = 0; k < x->table_count; k++)
                x->table[k] = map[x->table[k]];
        }
    }
}

/* Copies the finished parts into the arena. */
static void keep_result(struct lowering *l, struct code_func *out) {
    struct arena *a = l->arena;
    out->count = l->count - 1;
    out->local_align = l->local_align;
    out->insts = arena_alloc(a, l->count * sizeof(*out->insts));
    unsigned char *consts = arena_alloc(a, l->consts.len + CODE_SLACK + 64);
    if (!out->insts || !consts) {
        lowering_fail(l, -ENOMEM, "out of memory");
        return;
    }
    memcpy(out->insts, l->insts, l->count * sizeof(*out->insts));
    consts += -(uintptr_t)consts & 63;
    if (l->consts.data) memcpy(consts, l->consts.data, l->consts.len);
    out->consts = consts;
    out->const_bytes = l->consts.len;
}

int decode_func(struct arena *arena, struct ptx_func *f, struct code_func **out, char *why,
                size_t why_bytes) {
    struct lowering l = {.arena = arena, .func = f, .why = why, .why_bytes = why_bytes};
    consts_init(&l.consts);
    struct code_func *code = arena_calloc(arena, 1, sizeof(*code));
    int32_t *map = malloc(((size_t)f->inst_count + 1) * sizeof(*map));
    if (!code || !map) lowering_fail(&l, -ENOMEM, "out of memory");
    if (f->unsupported)
        lowering_fail(&l, ERR_ILLEGAL_INSTRUCTION, "not supported by the software GPU: %s",
                      f->unsupported);
    if (!l.err) {
        code->ptx = f;
        add_registers(&l);
        lay_out(&l, code);
    }
    if (!l.err) lower_body(&l, map);
    if (!l.err) resolve_targets(&l, map);
    if (!l.err) keep_result(&l, code);
    code->stack = l.stack;
    if (!l.err) {
        int err = regalloc_run(code, l.reg_bytes, l.reg_count);
        if (err) lowering_fail(&l, err, "the function has too many registers");
    }
    consts_finish(&l.consts);
    free(l.insts);
    free(l.reg_bytes);
    free(map);
    *out = code;
    return l.err;
}
