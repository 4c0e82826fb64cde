/* SPDX-License-Identifier: Apache-2.0 */
#include "test/lib/ptx/ptx_check.h"
#include "daemon/device/soft/instructions/ptx_tables.h"
#include "daemon/device/soft/ptx/ptx_parse.h"

#include <string.h>

#define CHECK(cond, text)         \
    do {                          \
        if (!(cond)) return text; \
    } while (0)

static volatile unsigned char sink;

static const char *check_var(const struct ptx_var *v) {
    CHECK(v->name && strlen(v->name) > 0, "a variable without a name");
    CHECK(ptx_type_bytes(v->type) > 0, "a variable without a type");
    CHECK(v->align && (v->align & (v->align - 1)) == 0, "an alignment that is no power of two");
    for (uint64_t i = 0; v->init && i < v->bytes; i++)
        sink = v->init[i];
    for (uint32_t i = 0; i < v->reloc_count; i++) {
        const struct ptx_reloc *r = &v->relocs[i];
        CHECK(r->symbol && r->bytes >= 1 && r->bytes <= 16, "a relocation without symbol or width");
        CHECK(r->at <= v->bytes && r->bytes <= v->bytes - r->at, "a relocation outside");
        CHECK(r->shift < 64, "a relocation shifted out");
    }
    return NULL;
}

static const char *check_params(struct ptx_var **params, uint32_t count, uint32_t bytes) {
    uint64_t end = 0;
    for (uint32_t i = 0; i < count; i++) {
        const char *bad = check_var(params[i]);
        CHECK(!bad, bad);
        CHECK(params[i]->index == i && params[i]->func_scope, "a misplaced parameter");
        CHECK(params[i]->offset % params[i]->align == 0, "a misaligned parameter");
        CHECK(params[i]->offset >= end, "overlapping parameters");
        end = params[i]->offset + params[i]->bytes;
    }
    CHECK(bytes == UINT32_MAX || end == bytes, "parameters that do not add up");
    return NULL;
}

static const char *check_operand(const struct ptx_func *f, const struct ptx_operand *o) {
    CHECK(o->reg == -1 || (o->reg >= 0 && (uint32_t)o->reg < f->reg_count), "a register outside");
    switch (o->kind) {
    case PTX_OPND_REG: CHECK(o->reg >= 0, "a register operand without one"); break;
    case PTX_OPND_SREG:
        CHECK((unsigned)o->sreg < PTX_SREG_COUNT, "a special register outside");
        break;
    case PTX_OPND_VAR: CHECK(o->var, "a variable operand without one"); break;
    case PTX_OPND_FUNC: CHECK(o->func, "a function operand without one"); break;
    case PTX_OPND_LABEL:
        CHECK(f->unsupported || (o->target >= 0 && (uint32_t)o->target <= f->inst_count),
              "a label outside");
        break;
    case PTX_OPND_ADDR: CHECK(!(o->var && o->reg >= 0), "an address with two bases"); break;
    default: break;
    }
    CHECK(o->elem_count == 0 || o->elems, "elements that are not there");
    for (uint32_t i = 0; i < o->elem_count; i++) {
        const char *bad = check_operand(f, &o->elems[i]);
        CHECK(!bad, bad);
    }
    return NULL;
}

static const char *check_inst(const struct ptx_func *f, const struct ptx_inst *i) {
    CHECK(i->text && i->op < PTX_OP_COUNT, "an instruction without an operation");
    CHECK(i->op != PTX_OP_UNKNOWN || f->unsupported,
          "an unknown operation in a supported function");
    CHECK(i->pred >= -1 && i->pred < (int32_t)f->reg_count, "a predicate outside");
    CHECK(i->operand_count <= PTX_OPERANDS, "too many operands");
    CHECK(i->vec == 1 || i->vec == 2 || i->vec == 4 || i->vec == 8, "a strange vector");
    for (uint32_t n = 0; n < i->operand_count; n++) {
        const char *bad = check_operand(f, &i->operands[n]);
        CHECK(!bad, bad);
    }
    for (uint32_t n = 0; n < i->table_count; n++)
        CHECK(f->unsupported || (i->table[n] >= 0 && (uint32_t)i->table[n] <= f->inst_count),
              "a branch table entry outside");
    return NULL;
}

static const char *check_func(const struct ptx_func *f) {
    CHECK(f->name && strlen(f->name) > 0, "a function without a name");
    const char *bad = check_params(f->params, f->param_count, f->param_bytes);
    CHECK(!bad, bad);
    bad = check_params(f->rets, f->ret_count, UINT32_MAX);
    CHECK(!bad, bad);
    CHECK(f->defined || f->inst_count == 0, "a declaration with instructions");
    for (uint32_t i = 0; i < f->reg_count; i++)
        CHECK(f->regs[i].name && (f->regs[i].type || f->unsupported), "a register without a type");
    for (uint32_t i = 0; i < f->var_count; i++) {
        bad = check_var(f->vars[i]);
        CHECK(!bad, bad);
    }
    for (uint32_t i = 0; i < f->inst_count; i++) {
        bad = check_inst(f, &f->insts[i]);
        CHECK(!bad, bad);
    }
    return NULL;
}

const char *ptx_check(const struct ptx_module *m) {
    CHECK(m->target && m->version, "a module without version or target");
    for (uint32_t i = 0; i < m->func_count; i++) {
        const char *bad = check_func(m->funcs[i]);
        CHECK(!bad, bad);
        CHECK(m->funcs[i]->index == i && !m->funcs[i]->linked, "a misplaced function");
        CHECK(ptx_find_func(m, m->funcs[i]->name) == m->funcs[i], "a function that is not found");
    }
    for (uint32_t i = 0; i < m->var_count; i++) {
        const char *bad = check_var(m->vars[i]);
        CHECK(!bad, bad);
        CHECK(m->vars[i]->index == i && !m->vars[i]->linked, "a misplaced variable");
        CHECK(ptx_find_var(m, m->vars[i]->name) == m->vars[i], "a variable that is not found");
    }
    return NULL;
}
