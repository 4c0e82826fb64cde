/* SPDX-License-Identifier: Apache-2.0
 *
 * Variables of a module: space, size, alignment, initialisers, relocations.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "common/err.h"
#include "daemon/device/soft/ptx/ptx_parse.h"
#include "test/lib/ptx/ptx_text.h"

static struct ptx_module *module;
static char why[160];

static struct ptx_var *var(const char *text) {
    ptx_module_free(module);
    module = ptx_text_module(text);
    return ptx_find_var(module, "v");
}

static const char *refused(const char *decl) {
    char text[1024];
    struct ptx_module *m;
    snprintf(text, sizeof(text), "%s%s", PTX_TEXT_HEAD, decl);
    cr_assert_eq(ptx_text_parse(text, strlen(text), &m, why), ERR_INVALID_PTX, "%s", decl);
    return why;
}

static void done(void) {
    ptx_module_free(module);
    module = NULL;
}

TestSuite(ptx_decl, .fini = done);

Test(ptx_decl, plain) {
    struct ptx_var *v = var(".visible .global .align 16 .b8 v[3][5];");
    cr_assert(v->space == PTX_GLOBAL && v->type == PTX_B8 && v->linkage == PTX_LINK_VISIBLE);
    cr_assert(v->bytes == 15 && v->align == 16 && !v->init && !v->managed && !v->func_scope);
    v = var(".const .f64 v;");
    cr_assert(v->space == PTX_CONST && v->align == 8 && v->bytes == 8);
    v = var(".extern .shared .align 8 .b8 v[];");
    cr_assert(v->space == PTX_SHARED && v->bytes == 0 && v->linkage == PTX_LINK_EXTERN);
    v = var(".global .attribute(.managed, .unified(1, 2)) .u32 v;");
    cr_assert(v->managed);
    v = var(".global .v4 .f32 v[2];");
    cr_assert(v->bytes == 32 && v->align == 16);
    v = var(".common .global .u16 u, v;");
    cr_assert(v->linkage == PTX_LINK_COMMON && v->index == 1);
    v = var(".global .surfref v;");
    cr_assert_eq(v->bytes, 8);
    v = var(".global .samplerref v = { addr_mode_0 = clamp_to_edge, filter_mode = linear };");
    cr_assert(v->bytes == 8 && !v->init);
}

Test(ptx_decl, initialisers) {
    struct ptx_var *v = var(".global .u32 v = -7;");
    cr_assert_eq(*(int32_t *)v->init, -7);
    v = var(".global .b8 v[4] = {1, 0xff, -1};");
    cr_assert_eq(memcmp(v->init, "\x01\xff\xff\x00", 4), 0);
    v = var(".global .s16 v[2][2] = {{1}, {2, 3}};");
    cr_assert_eq(memcmp(v->init, (int16_t[]){1, 0, 2, 3}, 8), 0);
    v = var(".global .s16 v[2][2] = {1, 2, 3};");
    cr_assert_eq(memcmp(v->init, (int16_t[]){1, 2, 3, 0}, 8), 0);
    v = var(".global .u16 v[][2] = {{1, 2}, {3}};");
    cr_assert(v->bytes == 8 && memcmp(v->init, (int16_t[]){1, 2, 3, 0}, 8) == 0);
    v = var(".global .f32 v[3] = {0f3F800000, 2.5, 0d3FE0000000000000};");
    cr_assert_eq(memcmp(v->init, (float[]){1, 2.5f, 0.5f}, 12), 0);
    v = var(".global .f64 v[2] = {0f3F800000, -2.5};");
    cr_assert_eq(memcmp(v->init, (double[]){1, -2.5}, 16), 0);
    v = var(".global .v2 .f32 v[2] = {{1.0, 2.0}, {3.0, 4.0}};");
    cr_assert_eq(memcmp(v->init, (float[]){1, 2, 3, 4}, 16), 0);
    v = var(".global .b64 v = WARP_SZ * 2 + 1;");
    cr_assert_eq(*(uint64_t *)v->init, 65);
}

Test(ptx_decl, addresses) {
    struct ptx_var *v = var(".global .u64 v[5] = {x+8, generic(x)+4, 3, f, x-1};\n.global .u32 x;\n"
                            ".func f { ret; }");
    static const struct {
        uint64_t at;
        const char *symbol;
        int64_t addend;
    } want[] = {{0, "x", 8}, {8, "x", 4}, {24, "f", 0}, {32, "x", -1}};
    cr_assert_eq(v->reloc_count, 4);
    for (int i = 0; i < 4; i++) {
        cr_assert_eq(v->relocs[i].at, want[i].at);
        cr_assert_str_eq(v->relocs[i].symbol, want[i].symbol);
        cr_assert_eq(v->relocs[i].addend, want[i].addend);
        cr_assert(v->relocs[i].bytes == 8 && v->relocs[i].shift == 0);
    }
    cr_assert_eq(v->init[16], 3);
    v = var(".global .u8 v[3] = {0xff(x), 0xff00(generic(x)+4), 9};\n.global .u32 x;");
    cr_assert(v->reloc_count == 2 && v->relocs[1].shift == 8 && v->relocs[1].bytes == 1);
    cr_assert(v->relocs[1].at == 1 && v->relocs[1].addend == 4 && v->init[2] == 9);
}

Test(ptx_decl, declared_and_defined) {
    struct ptx_var *v = var(".extern .global .u32 v;\n.func f { .reg .b32 %r1; ld.u32 %r1, [v]; }\n"
                            ".visible .global .u32 v = 5;\n.extern .global .u32 v;");
    cr_assert_eq(module->var_count, 1);
    cr_assert(v->linkage == PTX_LINK_VISIBLE && *(int32_t *)v->init == 5);
    cr_assert_eq(module->funcs[0]->insts[0].operands[1].var, v);
}

Test(ptx_decl, in_bodies) {
    ptx_module_free(module);
    struct ptx_func *f = ptx_text_func(".local .align 16 .b8 depot[40]; .shared .f32 s[2][3]; "
                                       "{ .param .align 8 .b8 s[16]; st.param.b64 [s+8], %rd1; } "
                                       "st.shared.f32 [s+4], %f1;",
                                       &module);
    cr_assert_eq(f->var_count, 3);
    cr_assert(f->vars[0]->space == PTX_LOCAL && f->vars[0]->bytes == 40 && f->vars[0]->func_scope);
    cr_assert(f->vars[1]->space == PTX_SHARED && f->vars[1]->bytes == 24);
    cr_assert_eq(f->insts[0].operands[0].var, f->vars[2]);
    cr_assert_eq(f->insts[1].operands[0].var, f->vars[1]);
}

Test(ptx_decl, what_is_skipped) {
    var(".file 1 \"a.cu\", 123, 456\n.pragma \"x\";\n.section .debug_info { .b8 1, 2 { } .b32 "
        "L+4\nL: }\n"
        ".global .u32 v;\n@@DWARF .byte 1\n.func f { .loc 1 2 3, function_name $L__i+4, inlined_at "
        "1 2 3\n"
        ".loc 1 2 3\n.file 2 \"b\"\n.pragma \"nounroll\"; $L__tmp: ret; }");
    cr_assert_eq(module->funcs[0]->inst_count, 1);
    cr_assert_null(module->funcs[0]->unsupported);
}

Test(ptx_decl, refusals) {
    cr_assert_str_eq(refused(".global .b8 v[1] = {1, 2};"), "line 4: too many initialisers");
    cr_assert_str_eq(refused(".global .u32 v = 1;\n.global .u32 v;"),
                     "line 5: 'v' is defined twice");
    cr_assert_str_eq(refused(".global .align 3 .u32 v;"),
                     "line 4: alignment is not a power of two up to 1048576");
    cr_assert_str_eq(refused(".global v;"), "line 4: a variable needs a type");
    cr_assert_str_eq(refused(".global .odd .u32 v;"),
                     "line 4: unknown attribute '.odd' of a variable");
    cr_assert_str_eq(refused(".global .b8 v[0xffffffffffff];"),
                     "line 4: variable 'v' is too large");
    cr_assert_str_eq(refused(".global .b64 v[0x10000000][0x10000000][0x10000000];"),
                     "line 4: variable 'v' is too large");
    cr_assert_str_eq(refused(".global .b8 v[70000000] = {1};"),
                     "line 4: more than 67108864 bytes of initialisers");
    cr_assert_str_eq(refused(".global .b8 v[] = {{1}};"), "line 4: initialiser nested too deeply");
    cr_assert_str_eq(refused(".global .u32 v = 0(x);"), "line 4: empty mask");
    cr_assert_str_eq(refused(".func v { ret; } .global .u32 v;"), "line 4: 'v' is a function");
    cr_assert_str_eq(refused(".global .u32 v; .func v { ret; }"), "line 4: 'v' is not a function");
    cr_assert_str_eq(refused(".entry k(.param .b8 a[0x7fffffff], .param .b8 b[9]) { ret; }"),
                     "line 4: parameters are too large");
}

/* Triton writes such vectors; ptxas accepts them for ld, ldu and st only. */
Test(ptx_decl, a_vector_of_one_is_its_element) {
    ptx_module_free(module);
    struct ptx_func *f =
        ptx_text_func("ld.global.b32 { %r1 }, [%rd1]; st.global.b32 [%rd1], {%r2}; "
                      "st.global.b32 [%rd1], {7}; ldu.global.b32 {%r1}, [%rd1];",
                      &module);
    cr_assert_eq(f->insts[0].operands[0].kind, PTX_OPND_REG);
    cr_assert_eq(f->insts[1].operands[1].kind, PTX_OPND_REG);
    cr_assert_neq(f->insts[1].operands[1].reg, f->insts[0].operands[0].reg);
    cr_assert_eq(f->insts[2].operands[1].imm, 7);
    cr_assert_eq(f->insts[3].operands[0].reg, f->insts[0].operands[0].reg);
}
