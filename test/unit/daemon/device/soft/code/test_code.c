/* SPDX-License-Identifier: Apache-2.0
 *
 * Loading and decoding: variables and their initialisers, registers that share slots, and rejected
 * modules with their messages.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "daemon/device/soft/code/func.h"
#include "daemon/device/soft/decode/code_kernel.h"
#include "daemon/device/soft/module/code_kernel_info.h"
#include "daemon/device/soft/module/code_module.h"
#include "daemon/device/soft/ptx/ptx_parse.h"
#include "test/lib/ptx/ptxrun.h"

#define HEAD ".version 8.0\n.target sm_80\n.address_size 64\n"

static struct ptxrun *load(const char *text) {
    return ptxrun_create(text, strlen(text), 1);
}

static const char variables[] =
    HEAD ".global .align 4 .u32 one[3] = {7, 8, 9};\n"
         ".const .align 8 .f64 two = 0d4000000000000000;\n"
         ".global .align 8 .u64 where[4] = {one, generic(one)+4, helper, 5};\n"
         ".global .align 16 .b8 zeros[100];\n"
         ".func (.param .b32 r) helper(.param .b32 x) { ret; }\n"
         ".visible .entry k(.param .u64 out) { .reg .b64 %rd<6>; .reg .b32 %r<3>;\n"
         "ld.param.u64 %rd1, [out]; ld.global.u64 %rd2, [where+8]; ld.u32 %r1, [%rd2];\n"
         "st.global.u32 [%rd1], %r1; ld.const.b64 %rd3, [two]; st.global.u64 [%rd1+8], %rd3;\n"
         "mov.u64 %rd4, zeros; add.u64 %rd4, %rd4, 99; st.global.u8 [%rd4], %r1; ret; }\n";
Test(code, variables_and_initialisers) {
    struct ptxrun *r = load(variables);
    cr_assert(r->module, "%s", r->why);
    uint64_t addr, bytes, one;
    cr_assert_eq(code_global_get(r->module, "one", &one, &bytes), 0);
    cr_assert_eq(bytes, 12);
    cr_assert_eq(memcmp((void *)one, (uint32_t[]){7, 8, 9}, 12), 0);
    cr_assert_eq(code_global_get(r->module, "where", &addr, &bytes), 0);
    const uint64_t *where = (const uint64_t *)addr;
    cr_assert_eq(where[0], one);
    cr_assert_eq(where[1], one + 4);
    cr_assert_eq(where[2] & ~0xfffull, CODE_HANDLE_TAG); /* not a pointer of this process */
    cr_assert_eq(where[3], 5);
    cr_assert_eq(code_global_get(r->module, "zeros", &addr, &bytes), 0);
    cr_assert_eq(addr % 16, 0);
    cr_assert_eq(code_global_get(r->module, "helper", &addr, &bytes), ERR_NOT_FOUND);
    uint64_t *out = ptxrun_alloc(r, 16);
    cr_assert_eq(ptxrun_launch(r, "k", 1, 1, 1, (uint64_t)out), 0, "%s%s", r->why, r->result.text);
    cr_assert_eq(out[0], 8);
    cr_assert_eq(out[1], 0x4000000000000000);
    ptxrun_destroy(r);
}

#define WIDE                                          \
    ".version 8.3\n.target sm_90\n.address_size 64\n" \
    ".visible .entry k() { .reg .b128 %w; .reg .b64 %a; .reg .b32 %r;\n"
/* Texts that do not load or decode, and a part of the error message. */
static const struct {
    const char *text;
    int err;
    const char *why;
} refused[] = {
    {HEAD ".extern .global .u32 elsewhere;\n.visible .entry k() { ret; }", ERR_NOT_FOUND,
     "elsewhere"},
    {HEAD ".global .u64 p[1] = {nowhere};\n.visible .entry k() { ret; }", ERR_NOT_FOUND, "p "},
    {HEAD ".visible .entry k() { .reg .b32 %r<3>; tcgen05.wait::ld.sync.aligned; ret; }",
     ERR_ILLEGAL_INSTRUCTION, "tcgen05"},
    {HEAD ".extern .func missing();\n.visible .entry k() { call missing; ret; }", ERR_NOT_FOUND,
     "missing is undefined"},
    {HEAD
     ".visible .entry k() { .reg .b32 %r<3>; .reg .b64 %rd<3>; add.u64 %rd1, %rd2, %r1; ret; }",
     ERR_INVALID_PTX, "add.u64: operand 3"},
    {HEAD ".visible .entry k() { .reg .b32 %r<3>; .reg .pred %p<2>; and.b32 %r1, %r2, %p1; ret; }",
     ERR_INVALID_PTX, "and.b32: operand 3"},
    {HEAD ".visible .entry k() { .reg .b32 %r<3>; add.u32 %r1, %r2; ret; }", ERR_INVALID_PTX,
     "too few"},
    {HEAD ".visible .entry k() { .reg .b32 %r<3>; .reg .b16 %rs<2>; ld.global.u32 %rs1, [%r1]; "
          "ret; }",
     ERR_INVALID_PTX, "ld.global.u32: operand 1"},
    {HEAD ".visible .entry k(.param .u32 x) { .reg .b64 %rd<3>; ld.param.u64 %rd1, [x]; ret; }",
     ERR_INVALID_PTX, "parameters"},
    {HEAD ".visible .entry k() { .local .b8 big[600000]; ret; }", ERR_ILLEGAL_INSTRUCTION,
     "local memory"},
    {HEAD ".visible .entry k() { tcgen05.wait::ld.sync.aligned; ret; }", ERR_ILLEGAL_INSTRUCTION,
     "tcgen05"},
    {HEAD ".visible .entry k() { .reg .b64 %rd<2>; st.shared [0], %rd1; ret; }", ERR_INVALID_PTX,
     "types"},
    {WIDE "cvt.u64.u32 %w, %r; ret; }", ERR_ILLEGAL_INSTRUCTION, "128 bits"},
    {WIDE "cvt.u32.u64 %r, %w; ret; }", ERR_ILLEGAL_INSTRUCTION, "128 bits"},
    {WIDE "ld.global.u32 %w, [%a]; ret; }", ERR_ILLEGAL_INSTRUCTION, "128 bits"},
    {WIDE "st.global.u32 [%a], %w; ret; }", ERR_ILLEGAL_INSTRUCTION, "128 bits"},
    {WIDE "ld.global.v2.u32 {%r, %w}, [%a]; ret; }", ERR_ILLEGAL_INSTRUCTION, "128 bits"},
    {WIDE "mov.b128 %a, %w; ret; }", ERR_INVALID_PTX, "mov.b128"},
    {WIDE "mov.b128 %r, {%a, %a}; ret; }", ERR_INVALID_PTX, "mov.b128"},
    {WIDE "mov.b64 %w, {%r, %r}; ret; }", ERR_INVALID_PTX, "mov.b64"},
    {HEAD ".visible .entry k() { .reg .b64 %rd<2>; ld.local %rd1, [0]; ret; }", ERR_INVALID_PTX,
     "types"},
    {HEAD ".visible .entry k() { .reg .b64 %rd<2>; atom.add.global %rd1, [%rd1], %rd1; ret; }",
     ERR_INVALID_PTX, "types"},
};

Test(code, what_is_refused) {
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        struct ptxrun *r = load(refused[i].text);
        struct code_kernel *k;
        int err = refused[i].err;
        if (r->module) err = code_kernel_get(r->module, "k", &k, r->why, sizeof(r->why));
        cr_assert_eq(err, refused[i].err, "case %zu: %d %s", i, err, r->why);
        cr_assert(strstr(r->why, refused[i].why), "case %zu: %s", i, r->why);
        if (r->module)
            cr_assert_eq(code_kernel_get(r->module, "none", &k, r->why, sizeof(r->why)),
                         ERR_NOT_FOUND);
        ptxrun_destroy(r);
    }
}

/* Kernels contain multimem instructions for memory that does not exist here; executing one ends
 * the kernel. */
static const char multimem[] = HEAD
    ".visible .entry k(.param .u64 out, .param .u32 go) { .reg .b64 %rd<3>; .reg .b32 %r<3>;\n"
    ".reg .pred %p; ld.param.u64 %rd1, [out]; ld.param.u32 %r1, [go]; setp.ne.u32 %p, %r1, 0;\n"
    "@%p multimem.ld_reduce.relaxed.sys.global.add.u32 %r2, [%rd1];\n"
    "@%p multimem.st.relaxed.sys.global.u32 [%rd1], %r2;\n"
    "st.global.u32 [%rd1], 7; ret; }\n";
Test(code, instructions_for_memory_that_is_not_there_trap) {
    struct ptxrun *r = load(multimem);
    cr_assert(r->module, "%s", r->why);
    uint32_t *out = ptxrun_alloc(r, 4);
    cr_assert_eq(ptxrun_launch(r, "k", 1, 1, 2, (uint64_t)out, (uint64_t)0), 0, "%s", r->why);
    cr_assert_eq(*out, 7);
    int err = ptxrun_launch(r, "k", 1, 1, 2, (uint64_t)out, (uint64_t)1);
    cr_assert_eq(err, ERR_LAUNCH_FAILED, "%d %s", err, r->why);
    cr_assert(strstr(r->result.text, "multimem.ld_reduce"), "%s", r->result.text);
    ptxrun_destroy(r);
}

/* Numba's names have hundreds of characters. */
Test(code, a_long_name_leaves_room_for_the_reason) {
    char name[251], text[512];
    memset(name, 'n', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    snprintf(text, sizeof(text), HEAD ".extern .func m();\n.visible .entry %s() { call m; ret; }",
             name);
    struct ptxrun *r = load(text);
    struct code_kernel *k;
    cr_assert(r->module, "%s", r->why);
    cr_assert_eq(code_kernel_get(r->module, name, &k, r->why, sizeof(r->why)), ERR_NOT_FOUND);
    cr_assert(strlen(r->why) < 200 && strstr(r->why, "m is undefined"), "%s", r->why);
    ptxrun_destroy(r);
}

/* A function that is only called by pointer may use an unsupported feature; calling it faults. */
static const char by_pointer[] =
    HEAD ".func bad() { tcgen05.wait::ld.sync.aligned; ret; }\n"
         ".func (.param .b32 r) good() { st.param.b32 [r], 5; ret; }\n"
         ".global .align 8 .u64 table[2] = {bad, good};\n"
         ".visible .entry k(.param .u64 out, .param .u64 at) { .reg .b64 %rd<6>; .reg .b32 %r<3>;\n"
         "ld.param.u64 %rd1, [out]; ld.param.u64 %rd2, [at]; mov.u64 %rd3, table;\n"
         "add.u64 %rd3, %rd3, %rd2; ld.global.u64 %rd4, [%rd3];\n"
         "{ .param .b32 q; proto: .callprototype (.param .b32 _) _ (); call (q), %rd4, (), proto;\n"
         "ld.param.b32 %r1, [q]; } st.global.u32 [%rd1], %r1; ret; }\n";
Test(code, undecodable_callees_fault_when_called) {
    struct ptxrun *r = load(by_pointer);
    cr_assert(r->module, "%s", r->why);
    uint32_t *out = ptxrun_alloc(r, 4);
    int err = ptxrun_launch(r, "k", 1, 1, 2, (uint64_t)out, (uint64_t)8);
    cr_assert_eq(err, 0, "%d %s%s", err, r->why, r->result.text);
    cr_assert_eq(*out, 5);
    err = ptxrun_launch(r, "k", 1, 1, 2, (uint64_t)out, (uint64_t)0);
    cr_assert_eq(err, ERR_ILLEGAL_ADDRESS, "%d", err);
    ptxrun_destroy(r);
}

/* `large` also has `a`, before the variable that `put` uses. */
static const char in_shared[] = HEAD
    ".shared .align 4 .b8 a[64];\n.shared .align 4 .b8 b[64];\n"
    ".shared .align 4 .b8 c[64];\n"
    ".func put(.param .b32 v) { .reg .b32 %r<2>; ld.param.u32 %r1, [v]; st.shared.u32 [b], %r1;"
    " ret; }\n"
    ".func bad() { tcgen05.wait::ld.sync.aligned; ret; }\n"
    ".visible .entry small(.param .u64 out) { .reg .b32 %r<2>; .reg .b64 %rd<2>;\n"
    "call put, (5); ld.param.u64 %rd1, [out]; ld.shared.u32 %r1, [b];\n"
    "st.global.u32 [%rd1], %r1; ret; }\n"
    ".visible .entry large(.param .u64 out) { .reg .b32 %r<2>; .reg .b64 %rd<2>;\n"
    "st.shared.u32 [a], 6; st.shared.u32 [c], 9; call put, (7); ld.param.u64 %rd1, [out]; "
    "ld.shared.u32 %r1, [a];\n"
    "st.global.u32 [%rd1], %r1; ld.shared.u32 %r1, [b]; st.global.u32 [%rd1+4], %r1; ret; }\n"
    ".visible .entry like_small() { call put, (8); ret; }\n"
    ".visible .entry bad_too() { call bad; ret; }\n.visible .entry bad_again() { call bad; ret; "
    "}\n";

static const struct code_func *put_of(struct ptxrun *r, const char *kernel) {
    struct code_kernel *k;
    int err = code_kernel_get(r->module, kernel, &k, r->why, sizeof(r->why));
    cr_assert_eq(err, 0, "%s: %s", kernel, r->why);
    return k->funcs[ptx_find_func(r->module->ptx, "put")->index];
}

Test(code, kernels_share_what_they_call_where_shared_memory_lies_alike) {
    struct ptxrun *r = load(in_shared);
    cr_assert(r->module, "%s", r->why);
    const struct code_func *small = put_of(r, "small"), *large = put_of(r, "large");
    cr_assert(small && large);
    cr_assert_neq(small, large, "it is elsewhere there");
    cr_assert_eq(small, put_of(r, "like_small"));
    uint32_t *out = ptxrun_alloc(r, 8);
    cr_assert_eq(ptxrun_launch(r, "small", 1, 1, 1, (uint64_t)out), 0, "%s", r->result.text);
    cr_assert_eq(out[0], 5);
    cr_assert_eq(ptxrun_launch(r, "large", 1, 1, 1, (uint64_t)out), 0, "%s", r->result.text);
    cr_assert_eq(out[0], 6);
    cr_assert_eq(out[1], 7);
    ptxrun_destroy(r);
}

Test(code, what_cannot_be_decoded_is_refused_to_each_in_the_same_words) {
    struct ptxrun *r = load(in_shared);
    struct code_kernel *k;
    char first[sizeof(r->why)];
    cr_assert(r->module, "%s", r->why);
    int err = code_kernel_get(r->module, "bad_too", &k, r->why, sizeof(r->why));
    cr_assert_eq(err, ERR_ILLEGAL_INSTRUCTION, "%d", err);
    cr_assert(strstr(r->why, "tcgen05"), "%s", r->why);
    memcpy(first, r->why, sizeof(first));
    r->why[0] = '\0';
    err = code_kernel_get(r->module, "bad_again", &k, r->why, sizeof(r->why));
    cr_assert_eq(err, ERR_ILLEGAL_INSTRUCTION, "%d", err);
    cr_assert_str_eq(r->why, first);
    ptxrun_destroy(r);
}

/* Returns the register count of a kernel that uses a hundred at once. */
static uint32_t registers_with(const char *directives) {
    static char text[1 << 16];
    size_t n = (size_t)snprintf(text, sizeof(text),
                                HEAD ".visible .entry k(.param .u64 out) %s { .reg .b64 %%rd<2>; "
                                     ".reg .b32 %%r<101>;\nld.param.u64 %%rd1, [out];\n",
                                directives);
    for (int i = 0; i < 100; i++)
        n += (size_t)snprintf(text + n, sizeof(text) - n,
                              "ld.volatile.global.u32 %%r%d, [%%rd1];\n", i);
    for (int i = 0; i < 100; i++)
        n += (size_t)snprintf(text + n, sizeof(text) - n, "st.global.u32 [%%rd1], %%r%d;\n", i);
    snprintf(text + n, sizeof(text) - n, "ret; }\n");
    struct ptxrun *r = load(text);
    struct code_kernel *k;
    struct code_kernel_info info;
    cr_assert(r->module, "%s", r->why);
    cr_assert_eq(code_kernel_get(r->module, "k", &k, r->why, sizeof(r->why)), 0, "%s", r->why);
    code_kernel_info(k, &info);
    ptxrun_destroy(r);
    return info.regs;
}

/* The number of registers decides how many blocks fit on a multiprocessor. */
Test(code, a_kernel_has_no_more_registers_than_it_asks_for) {
    cr_expect_gt(registers_with(""), 100);
    cr_expect_eq(registers_with(".maxnreg 38"), 38);
    cr_expect_gt(registers_with(".maxnreg 255"), 100);
    cr_expect_eq(registers_with(".maxnreg 1"), 16);
    cr_expect_eq(registers_with(".maxntid 256 .minnctapersm 4"), 64);
    cr_expect_eq(registers_with(".maxntid 32, 32, 1"), 64);
    cr_expect_eq(registers_with(".reqntid 768"), 80);
    cr_expect_eq(registers_with(".maxnreg 38 .maxntid 1024"), 38);
    cr_expect_gt(registers_with(".minnctapersm 4"), 100, "of how many threads is not known");
}

/* Registers with disjoint lifetimes share slots, so wide functions stay small. */
Test(code, registers_share_slots) {
    static char text[1 << 16];
    size_t n =
        (size_t)snprintf(text, sizeof(text),
                         HEAD ".visible .entry k(.param .u64 out) { .reg .b64 %%rd<2>; .reg "
                              ".b32 %%r<1002>;\nld.param.u64 %%rd1, [out]; mov.u32 %%r0, 1;\n");
    for (int i = 1; i <= 1000; i++)
        n += (size_t)snprintf(text + n, sizeof(text) - n, "add.u32 %%r%d, %%r%d, %d;\n", i, i - 1,
                              i);
    snprintf(text + n, sizeof(text) - n, "st.global.u32 [%%rd1], %%r1000; ret; }\n");
    struct ptxrun *r = load(text);
    struct code_kernel *k;
    cr_assert(r->module, "%s", r->why);
    cr_assert_eq(code_kernel_get(r->module, "k", &k, r->why, sizeof(r->why)), 0, "%s", r->why);
    cr_assert_leq(k->entry->reg_bytes, 1024);
    struct code_kernel_info info;
    code_kernel_info(k, &info);
    cr_assert_eq(info.regs, 16);
    uint32_t *out = ptxrun_alloc(r, 4);
    cr_assert_eq(ptxrun_launch(r, "k", 1, 1, 1, (uint64_t)out), 0);
    cr_assert_eq(*out, 500501);
    ptxrun_destroy(r);
}

/* Equal immediates share one entry of the pool, whatever function uses them. */
Test(code, constants_are_shared) {
    static const char text[] =
        HEAD ".visible .entry k() { .reg .b32 %r<9>; .reg .b64 %rd<3>; .reg .pred %p<2>;\n"
             "add.u32 %r1, %r2, 77; add.u32 %r3, %r1, 77; sub.u32 %r4, %r3, 77; and.b32 %r5, %r4, "
             "77;\n"
             "add.u64 %rd1, %rd2, 77; ret; }\n";
    struct ptxrun *r = load(text);
    struct code_kernel *k;
    cr_assert_eq(code_kernel_get(r->module, "k", &k, r->why, sizeof(r->why)), 0, "%s", r->why);
    cr_assert_eq(k->entry->const_bytes, 64 + 128 + 256);
    ptxrun_destroy(r);
}

static uint32_t decoded;
static void check_corpus(struct ptxrun *r) {
    static const char *const kernels[] = {"collatz", "recursion", "groups", "grid_sync", "atomics"};
    for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++) {
        struct code_kernel *k, *again;
        int err = code_kernel_get(r->module, kernels[i], &k, r->why, sizeof(r->why));
        cr_assert_eq(err, 0, "%s %s: %s", ptxrun_what, kernels[i], r->why);
        cr_assert_eq(code_kernel_get(r->module, kernels[i], &again, r->why, sizeof(r->why)), 0);
        cr_assert_eq(k, again);
        decoded++;
    }
}
Test(code, decodes_what_the_compiler_makes) {
    ptxrun_each("engine", check_corpus);
    cr_assert_geq(decoded, 30);
}
