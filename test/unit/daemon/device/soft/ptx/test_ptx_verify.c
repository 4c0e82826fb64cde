/* SPDX-License-Identifier: Apache-2.0
 *
 * Valid and invalid PTX, by the verdicts of ptxas (test/data/verify, from scripts/ptx-verdicts);
 * and the message of each rejection.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "daemon/device/soft/ptx/ptx_parse.h"
#include "test/lib/ptx/ptx_cases.h"
#include "test/lib/ptx/ptx_text.h"
#include "test/lib/ptx/ptxrun.h"

#define VERIFY_DIR "test/data/verify/"

static char why[160];

/* ptxas accepts these texts; the software GPU rejects them, because they cannot work. */
static bool is_known_gap(const char *text) {
    return strstr(text, "the address is outside the kernel's parameters") ||
           strstr(text, "an address needs 32 or 64 bits") || strncmp(text, "call at", 7) == 0;
}

/* Text that passes as PTX is decoded, or rejected as unsupported, never as malformed. */
static void check_decoding(const struct ptx_frame *frame, const char *text) {
    char *whole = ptx_frame_text(frame, text);
    struct ptxrun *r = ptxrun_create(whole, strlen(whole), 1);
    struct code_kernel *k;
    cr_expect(r->module, "%s: %s", text, r->why);
    int err = r->module ? code_kernel_get(r->module, "k", &k, r->why, sizeof(r->why)) : 0;
    cr_expect(err == 0 || err == ERR_ILLEGAL_INSTRUCTION || is_known_gap(r->why), "%s: %s", text,
              r->why);
    ptxrun_destroy(r);
    free(whole);
}

/* A row such as "no\tadd.u32 %u32a, 5;" */
static void check_case(const struct ptx_frame *frame, char *row, uint32_t counts[3]) {
    char *text = strchr(row, '\t');
    cr_assert_not_null(text, "%s", row);
    *text++ = 0;
    if (!strcmp(row, "ok")) check_decoding(frame, text);
    int err = ptx_frame_parse(frame, text, why, sizeof(why));
    if (!strcmp(row, "no"))
        cr_expect_eq(err, ERR_INVALID_PTX, "let pass: %s", text);
    else
        cr_expect_eq(err, 0, "%s: %s (%s)", text, why,
                     row[0] == 'o' ? "but it is valid"
                                   : "refused by now: scripts/ptx-verdicts generate");
    if (err) cr_expect_eq(strncmp(why, "line ", 5), 0, "%s", why);
    counts[row[0] == 'o' ? 0 : row[0] == 'n' ? 1 : 2]++;
}

Test(ptx_verify, verdicts_of_ptxas) {
    struct ptx_frame frame;
    uint32_t counts[3] = {0};
    size_t bytes;
    cr_assert_eq(ptx_frame_read(&frame, VERIFY_DIR "frame.ptx"), 0);
    char *text = ptx_text_file("build/data/verify/verdicts.txt", &bytes);
    text = realloc(text, bytes + 1);
    text[bytes] = 0;
    char *rest = text;
    for (char *row; (row = strsep(&rest, "\n")) && *row;)
        check_case(&frame, row, counts);
    cr_assert_geq(counts[0], 1000);
    cr_assert_geq(counts[1], 5000);
    cr_assert_leq(counts[2], 200, "what is let pass may only become less");
    free(text);
    ptx_frame_finish(&frame);
}

static int refused(const char *body) {
    char text[1024];
    struct ptx_module *m = NULL;
    int n = snprintf(text, sizeof(text),
                     PTX_TEXT_HEAD ".global .u32 var;\n.func (.param .b32 r) f(.param .b32 a);\n"
                                   ".entry k {\n.reg .pred %%p<4>; .reg .b32 %%r<4>; .reg .f32 "
                                   "%%f<4>; .reg .u32 %%u<4>; .reg .b64 %%rd<4>;\n%s\n}",
                     body);
    int err = ptx_text_parse(text, (size_t)n, &m, why);
    ptx_module_free(m);
    return err;
}

static void says(const char *body, const char *words) {
    cr_expect_eq(refused(body), ERR_INVALID_PTX, "%s", body);
    cr_expect_str_eq(why, words, "%s: %s", body, why);
}

Test(ptx_verify, line_instruction_and_what_is_wrong) {
    says("nonsense.u32 %r1;", "line 8: unknown instruction 'nonsense'");
    says("\nadd.f32 %u1, %f1, %f2;",
         "line 9: add.f32: operand 1 cannot be %u1, a register of type .u32");
    says("mov.u32 %p1, 3;", "line 8: mov.u32: operand 1 cannot be %p1, a register of type .pred");
    says("add.u32 %r1, %r2;", "line 8: add.u32: too few operands, 2 of 3");
    says("ret %r1;", "line 8: ret: too many operands, 1 of 0");
    says("add.u32 5, %r1, %r2;", "line 8: add.u32: operand 1 is written and cannot be a constant");
    says("add.u32 %r1, %r2, 1.5;",
         "line 8: add.u32: operand 3 cannot be a floating-point constant");
    says("add.f32 %f1, %f2, 1;", "line 8: add.f32: operand 3 cannot be an integer constant");
    says("add.wrong.u32 %r1, %r2, %r3;", "line 8: add.wrong.u32: modifier '.wrong' does not apply "
                                         "to the operation with these types");
    says("add.pred %p1, %p2, %p3;",
         "line 8: add.pred: the operation does not exist for these types");
    says("fma.f32 %f1, %f1, %f1, %f1;", "line 8: fma.f32: one of rn|rz|rm|rp is needed");
    says("add.u32 %r1, %r2, nowhere;", "line 8: add.u32: unknown name 'nowhere'");
    says("tcgen05.wait::ld.sync.aligned %r9;", "line 8: unknown name '%r9'");
    says("@%r1 ret;", "line 8: a guard must be a predicate '%r1'");
    says("ld.shared.u32 %r1, [var];",
         "line 8: ld.shared.u32: operand 2 names a variable of another state space");
    says("ld.global.v2.u32 %r1, [var];", "line 8: ld.global.v2.u32: operand 1 must be a vector");
    says("ld.global.b32 {%r1, %r2}, [var];", "line 8: ld.global.b32: operand 1 cannot be a list");
    says("ld.global.b32 {{%r1}}, [var];", "line 8: ld.global.b32: operand 1 cannot be a list");
    says("ld.global.b32 {_}, [var];", "line 8: ld.global.b32: operand 1 cannot be a list");
    says("add.u32 {%r1}, %r2, %r3;", "line 8: add.u32: operand 1 cannot be a list");
    says("call (%r1), f, (%r2, %r3);", "line 8: call: 2 arguments, but the function has 1");
    says("call (%r1), f, (%rd2);", "line 8: call: operand 1 has not the size of the parameter");
    says(".reg .b32 %r<2>;", "line 8: '%r<>' is declared twice");
    says(".strange 5;", "line 8: unknown directive '.strange'");
}

/* A module of a version whose rules are unknown here: unknown features may be new. */
Test(ptx_verify, what_is_newer_than_the_rules_is_lazy) {
    static const char body[] = ".target sm_90\n.address_size 64\n.entry k { .reg .b32 %r<3>;\n"
                               "marvel.b32 %r1; add.nicely.u32 %r1, %r1, %r2; .strange 5;\n"
                               "mov.u32 %r1, %moon.x; }\n.entry good { ret; }";
    char text[512];
    struct ptx_module *m;
    snprintf(text, sizeof(text), ".version 9.1\n%s", body);
    cr_assert_eq(ptx_text_parse(text, strlen(text), &m, why), 0, "%s", why);
    cr_assert_str_eq(ptx_find_func(m, "k")->unsupported, "line 5: marvel.b32");
    cr_assert_null(ptx_find_func(m, "good")->unsupported);
    ptx_module_free(m);
    text[strlen(".version 9.")] = '0';
    cr_assert_eq(ptx_text_parse(text, strlen(text), &m, why), ERR_INVALID_PTX);
}

/* Operations and special registers that only the rules know: valid PTX that the software GPU
 * cannot run. */
Test(ptx_verify, others_are_known) {
    static const char *const bodies[] = {
        "movmatrix.sync.aligned.m8n8.trans.b16 %r1, %r2;",
        "tcgen05.wait::ld.sync.aligned;",
        "multimem.red.add.u32 [%rd1], %r1;",
        "tcgen05.fence::before_thread_sync;",
        "cnot.b32 %r1, %r2;",
        "mov.u32 %r1, %pm7; mov.u64 %rd1, %pm0_64; mov.u32 %r1, %tid.w;",
    };
    for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++)
        cr_expect_eq(refused(bodies[i]), 0, "%s: %s", bodies[i], why);
}
