/* SPDX-License-Identifier: Apache-2.0
 *
 * A kernel reads zeros where it has not written: it never sees data of another block, call or
 * launch, which may belong to another user.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "test/lib/ptx/ptxrun.h"

#define HEAD ".version 8.0\n.target sm_80\n.address_size 64\n"
#define BLOCKS 9
#define THREADS 64

/* Each kernel ors the values that it found into a word of each thread, and leaves 77 there. */
#define BEGIN(name)                                                                        \
    ".visible .entry " name "(.param .u64 out) {\n"                                        \
    ".reg .b32 %r<20>; .reg .b64 %rd<9>; .reg .b32 %never; .reg .b64 %never64;\n"          \
    ".reg .pred %neverp; .shared .align 4 .b8 buf[4096]; .local .align 4 .b8 own[1024];\n" \
    "ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4;\n"          \
    "add.u64 %rd2, %rd1, %rd2; shl.b32 %r2, %r1, 2; mov.u32 %r3, buf; add.u32 %r4, %r3, %r2;\n"
#define END "atom.global.or.b32 %r11, [%rd2], %r9; ret; }\n"

static void expect_nothing(const char *text, const char *kernel, uint32_t blocks) {
    struct ptxrun *r = ptxrun_create(text, strlen(text), 0);
    int32_t *out = ptxrun_alloc(r, 4096);
    for (int launch = 0; launch < 3; launch++) {
        int err = ptxrun_launch(r, kernel, blocks, THREADS, 1, (uint64_t)out);
        cr_assert_eq(err, 0, "%d %s%s", err, r->why, r->result.text);
        for (int t = 0; t < THREADS; t++)
            cr_assert_eq(out[t], 0, "launch %d, thread %d: %d", launch, t, out[t]);
    }
    ptxrun_destroy(r);
}

Test(leftovers, shared_memory) {
    expect_nothing(HEAD BEGIN("shared") "ld.shared.u32 %r9, [%r4]; mov.u32 %r10, 77;"
                                        "st.shared.u32 [%r4], %r10;" END,
                   "shared", BLOCKS);
}

Test(leftovers, registers) {
    expect_nothing(HEAD BEGIN("registers") "mov.b32 %r9, %never; cvt.u32.u64 %r5, %never64;"
                                           "or.b32 %r9, %r9, %r5; selp.b32 %r6, 1, 0, %neverp;"
                                           "or.b32 %r9, %r9, %r6; add.u32 %never, %r1, 77;"
                                           "add.u64 %never64, %rd2, 77;"
                                           "setp.ne.u32 %neverp, %never, 0;"
                                           "st.global.u32 [%rd2+1024], %never;"
                                           "st.global.u64 [%rd1+2048], %never64;"
                                           "@%neverp st.global.u32 [%rd1+3072], %r1;" END,
                   "registers", BLOCKS);
}

#define CALL                                                                        \
    "{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r1; call (b), helper, (a);" \
    "ld.param.b32 %r8, [b]; } or.b32 %r9, %r9, %r8;"
Test(leftovers, frames) {
    expect_nothing(HEAD ".func (.param .b32 b) helper(.param .b32 a) {\n"
                        ".reg .b32 %r<4>; .reg .b32 %never; mov.b32 %r1, %never;"
                        "ld.param.b32 %r2, [a]; add.u32 %never, %r2, 77;"
                        "xor.b32 %r3, %never, %r2; and.b32 %r3, %r3, 0; or.b32 %r1, %r1, %r3;"
                        "st.param.b32 [b], %r1; ret; }\n" BEGIN("frames") CALL CALL END,
                   "frames", BLOCKS);
}

/* A context's stacks serve several blocks of one launch; the next launch gets new ones. */
Test(leftovers, local_memory) {
    expect_nothing(HEAD BEGIN("stacks") "mov.u64 %rd3, own; ld.local.u32 %r9, [own+512];"
                                        "mov.u32 %r10, 77; st.local.u32 [own+512], %r10;" END,
                   "stacks", 1);
}
