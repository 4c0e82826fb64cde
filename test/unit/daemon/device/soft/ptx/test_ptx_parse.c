/* SPDX-License-Identifier: Apache-2.0
 *
 * Instructions and functions, and the wording of errors. Line numbers count from the first line of
 * the header; a function's body begins in line 6.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "daemon/device/soft/ptx/ptx_parse.h"
#include "test/lib/ptx/ptx_text.h"

static struct ptx_module *module;
static char why[160];

static struct ptx_inst *inst(const char *body) {
    ptx_module_free(module);
    struct ptx_func *f = ptx_text_func(body, &module);
    cr_assert_null(f->unsupported, "%s", f->unsupported);
    cr_assert_gt(f->inst_count, 0);
    return &f->insts[0];
}

static const char *unsupported(const char *body) {
    ptx_module_free(module);
    return ptx_text_func(body, &module)->unsupported;
}

static int refused(const char *text) {
    struct ptx_module *m;
    return ptx_text_parse(text, strlen(text), &m, why);
}

static const char *refused_body(const char *body) {
    char text[2048];
    snprintf(text, sizeof(text), "%s.global .b32 var;\n.entry k {\n%s\n}", PTX_TEXT_HEAD, body);
    cr_assert_eq(refused(text), ERR_INVALID_PTX, "%s", body);
    return why;
}

static const char *reg_name(const struct ptx_operand *o) {
    return module->funcs[0]->regs[o->reg].name;
}

static void done(void) {
    ptx_module_free(module);
    module = NULL;
}

TestSuite(ptx_parse, .fini = done);

Test(ptx_parse, plain_instruction) {
    struct ptx_inst *i = inst("add.s32 %r1, %r2, -5;");
    cr_assert(i->op == PTX_OP_add && i->type_count == 1 && i->types[0] == PTX_S32);
    cr_assert_str_eq(i->text, "add.s32");
    cr_assert(i->line == 7 && i->pred == -1 && i->vec == 1);
    cr_assert_eq(i->operand_count, 3);
    cr_assert_str_eq(reg_name(&i->operands[0]), "%r1");
    cr_assert_str_eq(reg_name(&i->operands[1]), "%r2");
    cr_assert(i->operands[2].kind == PTX_OPND_IMM && i->operands[2].imm == (uint64_t)-5);
    cr_assert_eq(i->operands[2].imm_float_bytes, 0);
    cr_assert_eq(module->funcs[0]->reg_count, 2, "only registers that are named count");
}

Test(ptx_parse, guards) {
    struct ptx_inst *i = inst("@!%p3 mov.u32 %r1, 1;");
    cr_assert(i->pred_neg);
    cr_assert_str_eq(module->funcs[0]->regs[i->pred].name, "%p3");
    cr_assert_eq(module->funcs[0]->regs[i->pred].type, PTX_PRED);
    i = inst("@%p3 mov.u32 %r1, 1;");
    cr_assert(!i->pred_neg);
    cr_assert_str_eq(refused_body("@%q mov.u32 %r1, 1;"), "line 6: unknown predicate '%q'");
}

Test(ptx_parse, modifiers) {
    struct ptx_inst *i = inst("fma.rn.ftz.sat.f32 %f1, %f2, %f3, 0f3F800000;");
    cr_assert(i->round == PTX_RN && i->mods == (PTX_MOD_FTZ | PTX_MOD_SAT));
    cr_assert(i->operands[3].imm == 0x3F800000 && i->operands[3].imm_float_bytes == 4);
    i = inst("mul.lo.u32 %r1, %r1, %r1;");
    cr_assert(i->mods == PTX_MOD_LO && i->cmp == PTX_CMP_NONE);
    i = inst("setp.lo.u32 %p1, %r1, %r1;");
    cr_assert(i->mods == 0 && i->cmp == PTX_LO);
    i = inst("setp.hi.or.u32 %p1|%p2, %r1, %r1, !%p3;");
    cr_assert(i->cmp == PTX_HI && i->sub == PTX_SUB_OR && i->sub2 == PTX_SUB_OR);
    i = inst("vote.sync.uni.pred %p1, %p2, -1;");
    cr_assert(i->sub == PTX_SUB_UNI && i->mods == PTX_MOD_SYNC && i->types[0] == PTX_PRED);
    i = inst("cvt.rn.relu.bf16x2.f32 %r1, %f1, %f2;");
    cr_assert(i->type_count == 2 && i->types[0] == PTX_BF16X2 && i->types[1] == PTX_F32);
    i = inst("bar.red.popc.u32 %r1, 0, %p1;");
    cr_assert(i->sub == PTX_SUB_POPC && i->mods == PTX_MOD_RED);
    i = inst("dp4a.s32.u32 %r1, %r2, %r3, %r4;");
    cr_assert(i->types[0] == PTX_S32 && i->types[1] == PTX_U32);
}

Test(ptx_parse, memory) {
    struct ptx_inst *i = inst("ld.relaxed.gpu.global.nc.L1::no_allocate.L2::128B.v4.f32 "
                              "{%f1, %f2, _, %f3}, [%rd1+-16];");
    cr_assert(i->space == PTX_GLOBAL && i->vec == 4 && i->types[0] == PTX_F32);
    cr_assert(i->operands[0].kind == PTX_OPND_VEC && i->operands[0].elem_count == 4);
    cr_assert_eq(i->operands[0].elems[2].kind, PTX_OPND_NONE);
    cr_assert(i->operands[1].kind == PTX_OPND_ADDR && i->operands[1].offset == -16);
    cr_assert_str_eq(reg_name(&i->operands[1]), "%rd1");
    i = inst("st.volatile.u32 [var+4], %r1;");
    cr_assert(i->space == PTX_GENERIC && i->mods == PTX_MOD_VOLATILE);
    cr_assert(i->operands[0].var == module->vars[0] && i->operands[0].offset == 4);
    i = inst("ld.param.u64 %rd1, [arg];");
    cr_assert(i->space == PTX_PARAM && i->operands[1].var == module->funcs[0]->params[0]);
    i = inst("st.u8 [256], 1;");
    cr_assert(i->operands[0].reg == -1 && !i->operands[0].var && i->operands[0].offset == 256);
    i = inst("atom.shared::cta.cas.b32 %r1, [%r2], 0, 1;");
    cr_assert(i->space == PTX_SHARED && i->sub == PTX_SUB_CAS && i->operand_count == 4);
    i = inst("mov.b64 %rd1, arg;");
    cr_assert(i->operands[1].kind == PTX_OPND_VAR && i->operands[1].var->space == PTX_PARAM);
    i = inst("mov.u64 %rd1, var+12;");
    cr_assert(i->operands[1].kind == PTX_OPND_VAR && i->operands[1].offset == 12);
}

Test(ptx_parse, operands) {
    struct ptx_inst *i = inst("mov.u32 %r1, %ctaid.y;");
    cr_assert(i->operands[1].kind == PTX_OPND_SREG && i->operands[1].sreg == PTX_SREG_CTAID_Y);
    i = inst("mov.u64 %rd1, %globaltimer;");
    cr_assert_eq(i->operands[1].sreg, PTX_SREG_GLOBALTIMER);
    i = inst("mov.u32 %r1, WARP_SZ;");
    cr_assert_eq(i->operands[1].imm, 32);
    i = inst("mov.b64 {%r1, %r2}, %rd1;");
    cr_assert_eq(i->operands[0].elem_count, 2);
    i = inst("shfl.sync.idx.b32 %r1|%p1, %r2, (1+2)*4, 31, -1;");
    cr_assert(i->operands[0].kind == PTX_OPND_VEC && i->operands[0].elem_count == 2);
    cr_assert_str_eq(reg_name(&i->operands[0].elems[1]), "%p1");
    cr_assert_eq(i->operands[2].imm, 12);
    i = inst("and.pred %p1, %p2, !%p3;");
    cr_assert(i->operands[2].negated && !i->operands[1].negated);
    i = inst("mov.f64 %fd1, -0d3FF0000000000000;");
    cr_assert_eq(i->operands[1].imm, 0xBFF0000000000000);
    i = inst("add.f32 %f1, %f1, 0.5;");
    cr_assert(i->operands[2].imm_float_bytes == 8 && i->operands[2].imm == 0x3FE0000000000000);
}

Test(ptx_parse, labels_belong_to_their_block) {
    inst("bra END; L: { bra.uni L; L: ret; } @%p1 bra L; { bra END; } END:");
    struct ptx_inst *i = module->funcs[0]->insts;
    cr_assert_eq(module->funcs[0]->inst_count, 5);
    cr_assert_eq(i[0].operands[0].target, 5, "a label behind the last instruction");
    cr_assert(i[1].operands[0].target == 2 && i[1].mods == PTX_MOD_UNI);
    cr_assert_eq(i[3].operands[0].target, 1);
    cr_assert_eq(i[4].operands[0].target, 5);
    cr_assert_str_eq(refused_body("{ L: ret; } bra L;"), "line 6: unknown name 'L'");
    cr_assert_str_eq(refused_body("L: ret; L: ret;"), "line 6: label 'L' is defined twice");
}

Test(ptx_parse, registers_belong_to_their_block) {
    inst("mov.u32 %r1, 0; { .reg .b64 %r1, t; mov.u64 t, %r1; } mov.u32 %r1, 2;");
    struct ptx_func *f = module->funcs[0];
    cr_assert_eq(f->insts[0].operands[0].reg, f->insts[2].operands[0].reg);
    cr_assert_neq(f->insts[0].operands[0].reg, f->insts[1].operands[1].reg);
    cr_assert_eq(f->regs[f->insts[1].operands[1].reg].type, PTX_B64);
    inst("{ .reg .b16 %r<2>; mov.u16 %r1, 0; } .reg .b32 %z1<3>; mov.u32 %z12, %r1;");
    f = module->funcs[0];
    cr_assert_eq(f->regs[f->insts[0].operands[0].reg].type, PTX_B16);
    cr_assert_eq(f->regs[f->insts[1].operands[1].reg].type, PTX_B32);
    cr_assert_str_eq(f->regs[f->insts[1].operands[0].reg].name, "%z12");
    cr_assert_str_eq(refused_body(".reg .b32 %r<3>; mov.u32 %r1, a3;"),
                     "line 6: mov.u32: unknown name 'a3'");
    cr_assert_str_eq(refused_body(".reg .b32 %r<8>; mov.u32 %r1, %r8;"),
                     "line 6: unknown name '%r8'");
    cr_assert_str_eq(refused_body(".reg .b32 %r<8>; mov.u32 %r1, %r01;"),
                     "line 6: unknown name '%r01'");
}

Test(ptx_parse, branch_tables) {
    inst("A: t: .branchtargets A, B, C;\n{ brx.idx.uni %r1, t; }\nB: ret; C:");
    struct ptx_inst *i = module->funcs[0]->insts;
    cr_assert(i->op == PTX_OP_brx && i->table_count == 3);
    cr_assert(i->table[0] == 0 && i->table[1] == 1 && i->table[2] == 2);
    cr_assert_str_eq(refused_body(".reg .b32 %r1; brx.idx %r1, t;"), "line 6: unknown targets 't'");
    cr_assert_str_eq(refused_body("t: .branchtargets X;"), "line 6: unknown name 'X'");
}

Test(ptx_parse, calls) {
    ptx_module_free(module);
    module =
        ptx_text_module(".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n"
                        ".func nothing;\n"
                        ".entry k { .reg .b64 %rd1; .param .b32 o; .param .b64 a; .param .b64 b;\n"
                        "call.uni (o), vprintf, (a, b);\ncall nothing;\n"
                        "p: .callprototype (.param .b32 _) _ (.param .align 8 .b8 _[12], .param "
                        ".b64 _) .noreturn;\n"
                        ".param .align 8 .b8 c[12];\n"
                        "mov.u64 %rd1, vprintf;\ncall (o), %rd1, (c, b), p; }");
    struct ptx_func *k = ptx_find_func(module, "k"), *callee = ptx_find_func(module, "vprintf");
    struct ptx_inst *i = &k->insts[0];
    cr_assert(i->operand_count == 3 && i->mods == PTX_MOD_UNI);
    cr_assert(i->operands[0].kind == PTX_OPND_VEC && i->operands[0].elems[0].var == k->vars[0]);
    cr_assert(i->operands[1].kind == PTX_OPND_FUNC && i->operands[1].func == callee);
    cr_assert(i->operands[2].elem_count == 2 && i->operands[2].elems[1].var == k->vars[2]);
    cr_assert(!callee->defined && callee->linkage == PTX_LINK_EXTERN && callee->ret_count == 1);
    i = &k->insts[1];
    cr_assert(i->operands[0].kind == PTX_OPND_NONE && i->operands[2].kind == PTX_OPND_NONE);
    cr_assert(k->insts[2].operands[1].kind == PTX_OPND_FUNC);
    i = &k->insts[3];
    cr_assert(i->operands[1].kind == PTX_OPND_REG && i->proto);
    cr_assert(i->proto->param_count == 2 && i->proto->params[1]->offset == 16);
    cr_assert(i->proto->ret_count == 1 && i->proto->params[0]->bytes == 12);
    cr_assert_str_eq(refused_body(".reg .b64 %rd1; call %rd1, (), p;"), "line 6: unknown name 'p'");
    cr_assert_str_eq(refused_body("call var;"), "line 6: expected a function to call");
}

Test(ptx_parse, functions) {
    ptx_module_free(module);
    module = ptx_text_module(
        ".func (.param .b32 r) f(.param .b32 a);\n"
        ".weak .func (.param .b32 r) f(.param .b32 x)\n.noreturn\n{ ret; }\n"
        ".visible .entry k(.param .u8 a, .param .u64 .ptr .global .align 16 b, .param .u16 c,\n"
        ".param .align 16 .b8 d[20]) .maxntid 64, 2 .minnctapersm 3 .pragma \"x\"; { ret; }\n"
        ".entry r() .reqntid 128,1,1 .maxnreg 32 .explicitcluster .reqnctapercluster 2,1,1 { ret; "
        "}\n"
        ".alias g, f;\n");
    struct ptx_func *f = ptx_find_func(module, "f"), *k = ptx_find_func(module, "k");
    struct ptx_func *r = ptx_find_func(module, "r"), *g = ptx_find_func(module, "g");
    cr_assert(f->defined && f->linkage == PTX_LINK_WEAK && !f->entry);
    cr_assert_str_eq(f->params[0]->name, "x");
    static const uint32_t offsets[] = {0, 8, 16, 32};
    for (int n = 0; n < 4; n++)
        cr_assert_eq(k->params[n]->offset, offsets[n]);
    cr_assert(k->entry && k->param_bytes == 52 && k->params[1]->align == 8);
    cr_assert(k->max_block[0] == 64 && k->max_block[1] == 2 && k->max_block[2] == 1);
    cr_assert(k->req_block[0] == 0 && r->req_block[0] == 128);
    cr_assert(g->insts == f->insts && g->defined);
    cr_assert_null(ptx_find_func(module, "h"));
    cr_assert_null(ptx_find_var(module, "f"));
}

Test(ptx_parse, what_is_unknown_disables_its_function_alone) {
    cr_assert_str_eq(unsupported("ret; tcgen05.mma.x [%r1], {%rd1}, 0;"), "line 7: tcgen05.mma.x");
    cr_assert_str_eq(unsupported("tcgen05.commit.x.b64 [%rd1], 4;"),
                     "line 7: tcgen05.commit.x.b64");
    cr_assert_str_eq(unsupported("mov.u32 %r1, %pm0; tcgen05.fence;"), "line 7: %pm0");
    cr_assert_str_eq(unsupported(".reg .v4 .f32 q;"), "line 7: .reg of vectors");
    cr_assert_str_eq(unsupported("vadd.s32.s32.s32 %r1, %r2.b0, %r3;"), "line 7: .b0");
    ptx_module_free(module);
    module = ptx_text_module(".entry a { tcgen05; L: bra L; }\n.entry b { ret; }\n"
                             ".func c(.reg .u32 x) { ret; }");
    cr_assert_str_eq(module->funcs[0]->unsupported, "line 4: tcgen05");
    cr_assert_null(module->funcs[1]->unsupported);
    cr_assert_str_eq(module->funcs[2]->unsupported, "line 6: .reg parameter");
}

Test(ptx_parse, raw_operations_are_left_to_the_decoder) {
    struct ptx_inst *i = inst("cp.async.cg.shared.global.L2::128B [%r1], [%rd1], 16;");
    cr_assert(i->op == PTX_OP_cp && i->operand_count == 3);
    cr_assert_str_eq(i->text, "cp.async.cg.shared.global.L2::128B");
    i = inst("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f4}, "
             "{%r1,%r2,%r3,%r4}, {%r5,%r6}, {%f1,%f2,%f3,%f4};");
    cr_assert(i->op == PTX_OP_mma && i->operand_count == 4 && i->type_count == 4);
    i = inst("tex.2d.v4.f32.s32 {%f1,%f2,%f3,%f4}, [%rd1, {%r1,%r2}];");
    cr_assert(i->op == PTX_OP_tex && i->operand_count == 2 && i->operands[1].elem_count == 1);
}

Test(ptx_parse, headers) {
    cr_assert_eq(refused(""), ERR_INVALID_PTX);
    cr_assert_str_eq(why, "line 1: expected '.version', found the end of the text");
    cr_assert_eq(refused(".target sm_75\n"), ERR_INVALID_PTX);
    cr_assert_str_eq(why, "line 1: expected '.version' first");
    cr_assert_eq(refused(".version 10.0\n.target sm_75\n"), ERR_UNSUPPORTED_PTX);
    cr_assert_str_eq(why, "line 1: PTX version 10.0 is newer than 9.9");
    cr_assert_eq(refused(".version 9\n"), ERR_INVALID_PTX);
    cr_assert_str_eq(why, "line 1: expected a version like 9.0, found '9'");
    cr_assert_eq(refused(".version 9.0\n"), ERR_INVALID_PTX);
    cr_assert_eq(refused(".version 9.0 .target sm_75 .address_size 32"), ERR_INVALID_PTX);
    struct ptx_module *m;
    const char *ok = ".version 6.4 .target sm_90a, debug";
    cr_assert_eq(ptx_text_parse(ok, strlen(ok), &m, why), 0);
    cr_assert(m->version == 64 && m->target == 90 && m->func_count == 0);
    ptx_module_free(m);
}

/* ---- early PTX ------------------------------------------------------------------------------- */

/* The text of the first instruction of a module with this version and target. */
static const char *spelt(const char *head, const char *opcode, const char *operands) {
    static char text[1024];
    snprintf(text, sizeof(text),
             "%s\n.entry k {\n.reg .f32 %%f<9>; .reg .f64 %%d<9>; .reg .b64 %%l<9>;"
             ".reg .pred %%p<9>;\n%s %s;\nexit;\n}",
             head, opcode, operands);
    ptx_module_free(module);
    module = NULL;
    cr_assert_eq(ptx_text_parse(text, strlen(text), &module, why), 0, "%s: %s", opcode, why);
    return module->funcs[0]->insts[0].text;
}

/* As nvcc wrote it until 3.0, and as it is in NVIDIA's sample matrixMulDynlinkJIT. */
Test(ptx_parse, early_ptx_has_its_defaults) {
    const char *sm_10 = ".version 1.4\n.target sm_10, map_f64_to_f32";
    const char *v1_3 = ".version 1.3\n.target sm_13";
    cr_expect_str_eq(spelt(sm_10, "mad.f32", "%f1, %f2, %f3, %f4"), "mad.rn.ftz.f32");
    const struct ptx_inst *i = &module->funcs[0]->insts[0];
    cr_expect(i->op == PTX_OP_mad && i->types[0] == PTX_F32 && i->operand_count == 4);
    struct ptx_inst fused = *i;
    spelt(".version 7.0\n.target sm_75", "mad.rn.ftz.f32", "%f1, %f2, %f3, %f4");
    i = &module->funcs[0]->insts[0];
    cr_expect(i->round == fused.round && i->mods == fused.mods);
    cr_expect_str_eq(spelt(sm_10, "mad.sat.f32", "%f1, %f2, %f3, %f4"), "mad.rn.ftz.sat.f32");
    cr_expect_str_eq(spelt(sm_10, "mul.f32", "%f1, %f2, %f3"), "mul.ftz.f32");
    cr_expect_str_eq(spelt(sm_10, "add.rz.f32", "%f1, %f2, %f3"), "add.ftz.rz.f32");
    cr_expect_str_eq(spelt(sm_10, "setp.lt.f32", "%p1, %f2, %f3"), "setp.ftz.lt.f32");
    cr_expect_str_eq(spelt(sm_10, "div.full.f32", "%f1, %f2, %f3"), "div.ftz.full.f32");
    cr_expect_str_eq(spelt(sm_10, "cvt.rn.f32.s64", "%f1, %l1"), "cvt.rn.f32.s64");
    cr_expect_str_eq(spelt(sm_10, "add.u64", "%l1, %l2, %l3"), "add.u64");
    cr_expect_str_eq(spelt(v1_3, "div.f32", "%f1, %f2, %f3"), "div.approx.ftz.f32");
    cr_expect_str_eq(spelt(v1_3, "div.f64", "%d1, %d2, %d3"), "div.rn.f64");
    cr_expect_str_eq(spelt(v1_3, "rsqrt.f64", "%d1, %d2"), "rsqrt.approx.f64");
    cr_expect_str_eq(spelt(v1_3, "mad.f64", "%d1, %d2, %d3, %d4"), "mad.rn.f64");
    cr_expect_str_eq(spelt(".version 1.4\n.target sm_20", "mul.f32", "%f1, %f2, %f3"), "mul.f32");
}

Test(ptx_parse, later_ptx_has_none_of_them) {
    static const char *const heads[] = {".version 1.4\n.target sm_20",
                                        ".version 7.0\n.target sm_75"};
    for (size_t k = 0; k < 2; k++) {
        char text[512];
        snprintf(text, sizeof(text),
                 "%s\n.entry k { .reg .f32 %%f<5>; mad.f32 %%f1, %%f2, %%f3, %%f4; }", heads[k]);
        cr_assert_eq(refused(text), ERR_INVALID_PTX);
        cr_expect_str_eq(why, "line 3: mad.f32: one of rn|rz|rm|rp is needed");
    }
    const char *div =
        ".version 1.4\n.target sm_13\n.entry k { .reg .f64 %d<5>; div.f64 %d1, %d2, %d3; }";
    cr_expect_eq(refused(div), ERR_INVALID_PTX);
}

Test(ptx_parse, errors_name_line_and_reason) {
    cr_assert_str_eq(refused_body("\nret"), "line 8: expected a constant, found '}'");
    cr_assert_str_eq(refused_body(".reg .b32 %r1; add.s32 %r1 %r1;"),
                     "line 6: expected ';', found '%r1'");
    cr_assert_str_eq(refused_body("ld.u32 x, [y];"), "line 6: unknown name 'y'");
    cr_assert_str_eq(refused_body("{ ret;"), "line 7: expected '}', found the end of the text");
    cr_assert_str_eq(refused_body(".reg .b32 %r<2000000>;"), "line 6: too many registers");
    cr_assert_str_eq(refused_body(".reg .q32 %r;"),
                     "line 6: expected a register type, found '.q32'");
    cr_assert_str_eq(refused_body("mov.u32 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11;"),
                     "line 6: too many operands");
    cr_assert_eq(refused(PTX_TEXT_HEAD ".entry k { and.pred a, !"), ERR_INVALID_PTX);
    cr_assert_str_eq(why, "line 4: expected a name, found the end of the text");
    cr_assert_str_eq(refused_body("? ;"), "line 6: expected an instruction, found '?'");
    cr_assert_eq(refused(PTX_TEXT_HEAD ".entry k { ret; } .entry k { ret; }"), ERR_INVALID_PTX);
    cr_assert_str_eq(why, "line 4: function 'k' is defined twice");
    cr_assert_eq(refused(PTX_TEXT_HEAD ".alias a, b;"), ERR_INVALID_PTX);
    cr_assert_str_eq(why, "line 4: 'a' cannot be an alias of 'b'");
}

static char *repeat(const char *head, const char *unit, size_t count, const char *tail) {
    size_t each = strlen(unit);
    char *text = malloc(strlen(head) + each * count + strlen(tail) + 1);
    char *at = stpcpy(text, head);
    for (size_t i = 0; i < count; i++)
        at = stpcpy(at, unit);
    strcpy(at, tail);
    return text;
}

Test(ptx_parse, nesting_is_bounded) {
    static const struct {
        const char *head, *unit, *why;
    } cases[] = {
        {PTX_TEXT_HEAD ".entry k ", "{", "line 4: blocks nested too deeply"},
        {PTX_TEXT_HEAD ".entry k { mov.u32 ", "{", "line 4: operand nested too deeply"},
        {PTX_TEXT_HEAD ".entry k { mov.u32 ", "-", "line 4: constant nested too deeply"},
        {PTX_TEXT_HEAD ".entry k { mov.u32 ", "(", "line 4: constant nested too deeply"},
        {PTX_TEXT_HEAD ".entry k { .reg .b32 a; mov.u32 a", "|a",
         "line 4: operand nested too deeply"},
        {PTX_TEXT_HEAD ".global .b8 x[1] = ", "{", "line 4: initialiser nested too deeply"},
        {PTX_TEXT_HEAD ".global .b8 x", "[1]", "line 4: too many dimensions"},
        {PTX_TEXT_HEAD ".global .u32 x = ", "~", "line 4: constant nested too deeply"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *text = repeat(cases[i].head, cases[i].unit, 200000, "");
        cr_assert_eq(refused(text), ERR_INVALID_PTX);
        cr_assert_str_eq(why, cases[i].why);
        free(text);
    }
}

Test(ptx_parse, instructions_are_bounded) {
    char *text = repeat(PTX_TEXT_HEAD ".entry k {", "ret;", (1u << 20) + 1, "}");
    cr_assert_eq(refused(text), ERR_INVALID_PTX);
    cr_assert_str_eq(why, "line 4: too many instructions");
    free(text);
}
