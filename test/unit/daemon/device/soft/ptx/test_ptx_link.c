/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "common/err.h"
#include "daemon/device/soft/ptx/ptx_link.h"
#include "daemon/device/soft/ptx/ptx_parse.h"
#include "test/lib/ptx/ptx_check.h"
#include "test/lib/ptx/ptx_text.h"

static char why[160];

static int join(const char *a, const char *b, struct ptx_module **out) {
    struct ptx_module *units[2] = {ptx_text_module(a), ptx_text_module(b)};
    int err = ptx_link(units, 2, out, why, sizeof(why));
    if (err) {
        ptx_module_free(units[0]);
        ptx_module_free(units[1]);
    } else {
        cr_assert_null(ptx_check(*out), "%s", ptx_check(*out));
    }
    return err;
}

static struct ptx_module *joined(const char *a, const char *b) {
    struct ptx_module *m;
    cr_assert_eq(join(a, b, &m), 0, "%s", why);
    return m;
}

static struct ptx_func *callee(const struct ptx_module *m, const char *caller) {
    return ptx_find_func(m, caller)->insts[0].operands[1].func;
}

Test(ptx_link, a_declaration_becomes_its_definition) {
    static const char *const user = ".extern .func f;\n.extern .global .u32 x;\n"
                                    ".entry k { call f; }\n.entry l { st.u32 [x], 1; }\n"
                                    ".global .u64 p[2] = {x, f};";
    static const char *const maker = ".visible .func f { ret; }\n.visible .global .u32 x = 3;";
    for (int order = 0; order < 2; order++) {
        struct ptx_module *m = order ? joined(maker, user) : joined(user, maker);
        struct ptx_func *f = ptx_find_func(m, "f");
        struct ptx_var *x = ptx_find_var(m, "x");
        cr_assert(f->defined && x->init);
        cr_assert_eq(m->func_count, 3);
        cr_assert_eq(m->var_count, 2);
        cr_assert_eq(callee(m, "k"), f);
        cr_assert_eq(ptx_find_func(m, "l")->insts[0].operands[0].var, x);
        ptx_module_free(m);
    }
}

Test(ptx_link, private_symbols_stay_apart) {
    static const char *const a = ".func f { ret; }\n.entry a { call f; }\n.global .u32 x = 1;\n"
                                 ".visible .global .u64 pa = x;";
    static const char *const b = ".func f { ret; }\n.entry b { call f; }\n.global .u32 x = 2;\n"
                                 ".visible .global .u64 pb = x;";
    struct ptx_module *m = joined(a, b);
    cr_assert(m->func_count == 4 && m->var_count == 4);
    cr_assert_neq(callee(m, "a"), callee(m, "b"));
    static const char *const pointers[] = {"pa", "pb"};
    for (int i = 0; i < 2; i++) {
        struct ptx_var *p = ptx_find_var(m, pointers[i]);
        struct ptx_var *x = ptx_find_var(m, p->relocs[0].symbol);
        cr_assert_eq(x->init[0], i + 1);
    }
    ptx_module_free(m);
}

Test(ptx_link, a_private_symbol_gives_way_to_a_visible_one) {
    struct ptx_module *m = joined(".func f { ret; }\n.entry a { call f; }",
                                  ".visible .func f { ret; ret; }\n.entry b { call f; }");
    cr_assert_eq(ptx_find_func(m, "f")->inst_count, 2);
    cr_assert_eq(callee(m, "b"), ptx_find_func(m, "f"));
    cr_assert_eq(callee(m, "a")->inst_count, 1);
    ptx_module_free(m);
}

Test(ptx_link, weak_and_common) {
    struct ptx_module *m = joined(".weak .func f { ret; }\n.entry a { call f; }\n"
                                  ".common .global .u32 c[2];\n.weak .global .u32 w = 1;",
                                  ".visible .func f { ret; ret; }\n.entry b { call f; }\n"
                                  ".common .global .u32 c[4];\n.weak .global .u32 w = 2;");
    cr_assert_eq(callee(m, "a")->inst_count, 2);
    cr_assert_eq(callee(m, "b"), callee(m, "a"));
    cr_assert_eq(ptx_find_var(m, "c")->bytes, 16);
    cr_assert_eq(ptx_find_var(m, "w")->init[0], 1);
    ptx_module_free(m);
}

Test(ptx_link, undefined_stays_undefined_and_shared) {
    static const char *const text = ".extern .func (.param .b32 r) vprintf(.param .b64 a);\n"
                                    ".extern .shared .align %d .b8 s[];\n.entry %c { ret; }";
    char a[256], b[256];
    snprintf(a, sizeof(a), text, 4, 'a');
    snprintf(b, sizeof(b), text, 16, 'b');
    struct ptx_module *m = joined(a, b);
    cr_assert(m->func_count == 3 && m->var_count == 1);
    cr_assert(!ptx_find_func(m, "vprintf")->defined && ptx_find_var(m, "s")->align == 16);
    ptx_module_free(m);
}

Test(ptx_link, refusals) {
    struct ptx_module *m;
    cr_assert_eq(join(".entry k { ret; }", ".entry k { ret; }", &m), ERR_INVALID_PTX);
    cr_assert_str_eq(why, "function 'k' is defined in two units");
    cr_assert_eq(join(".visible .global .u32 x;", ".visible .global .u32 x;", &m), ERR_INVALID_PTX);
    cr_assert_str_eq(why, "variable 'x' is defined in two units");
    cr_assert_eq(join(".extern .func f(.param .b32 a);", ".visible .func f { ret; }", &m),
                 ERR_INVALID_PTX);
    cr_assert_str_eq(why, "units disagree about the parameters of 'f'");
    cr_assert_eq(join(".extern .func f;", ".visible .global .u32 f;", &m), ERR_INVALID_PTX);
    cr_assert_str_eq(why, "'f' is a function in one unit and a variable in another");
    cr_assert_eq(join(".extern .const .u32 x;", ".visible .global .u32 x;", &m), ERR_INVALID_PTX);
    cr_assert_str_eq(why, "units disagree about the space of 'x'");
    cr_assert_null(m);
}
