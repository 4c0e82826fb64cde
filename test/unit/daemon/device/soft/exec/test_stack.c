/* SPDX-License-Identifier: Apache-2.0
 *
 * Stack memory that functions allocate while they run. Each lane has its own, separate from that of
 * called functions; a restore or the function's return frees it; and its size is limited.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "common/err.h"
#include "test/lib/ptx/ptxrun.h"

#define HEAD ".version 8.0\n.target sm_75\n.address_size 64\n"

/* Each thread allocates a piece of 8 * (tid + 1) bytes that ends in tid, and one below it for
 * `touch`, which overwrites its own piece; then it sums the contents of the first. */
static const char pieces[] = HEAD
    ".func touch(.param .b64 n)\n{\n.reg .b64 %rd<5>; .reg .pred %p; .local .align 8 .b8 own[64];\n"
    "ld.param.u64 %rd0, [n]; mov.u64 %rd1, 0; st.local.u64 [own], 77; st.local.u64 [own+56], 77;\n"
    "shl.b64 %rd2, %rd0, 3; alloca.u64 %rd3, %rd2;\n"
    "$L: setp.eq.u64 %p, %rd1, %rd0; @%p ret; st.local.u64 [%rd3], 99; add.u64 %rd3, %rd3, 8;\n"
    "add.u64 %rd1, %rd1, 1; bra $L;\n}\n"
    ".visible .entry fill(.param .u64 p)\n{\n"
    ".reg .b32 %r<4>; .reg .b64 %rd<12>; .reg .pred %p<3>; .param .b64 n;\n"
    "ld.param.u64 %rd0, [p]; mov.u32 %r0, %tid.x; cvt.u64.u32 %rd1, %r0; add.u64 %rd2, %rd1, 1;\n"
    "shl.b64 %rd3, %rd2, 3; alloca.u64 %rd4, %rd3, 16; and.b64 %rd11, %rd4, 15;\n"
    "mov.u64 %rd5, 0; mov.u64 %rd6, %rd4;\n"
    "$L: st.local.u64 [%rd6], %rd1; add.u64 %rd6, %rd6, 8; add.u64 %rd5, %rd5, 1;\n"
    "setp.lt.u64 %p0, %rd5, %rd2; @%p0 bra $L;\n"
    "setp.gt.u32 %p1, %r0, 20; @%p1 bra $S; st.param.b64 [n], %rd2; call touch, (n);\n"
    "$S: mov.u64 %rd5, 0; mov.u64 %rd6, %rd4; mov.u64 %rd7, 0;\n"
    "$M: ld.local.u64 %rd8, [%rd6]; add.u64 %rd7, %rd7, %rd8; add.u64 %rd6, %rd6, 8;\n"
    "add.u64 %rd5, %rd5, 1; setp.lt.u64 %p0, %rd5, %rd2; @%p0 bra $M;\n"
    "add.u64 %rd7, %rd7, %rd11; shl.b64 %rd9, %rd1, 3; add.u64 %rd9, %rd0, %rd9;\n"
    "st.global.u64 [%rd9], %rd7; ret;\n}\n"
    /* Allocates p[1] pieces of p[0] bytes, and frees each at once if p[2] is set; p[3]: how many
     * were allocated. */
    ".visible .entry again(.param .u64 p)\n{\n.reg .b64 %rd<9>; .reg .pred %p, %q;\n"
    "ld.param.u64 %rd0, [p]; ld.global.u64 %rd1, [%rd0]; ld.global.u64 %rd2, [%rd0+8];\n"
    "ld.global.u64 %rd3, [%rd0+16]; setp.ne.u64 %q, %rd3, 0; mov.u64 %rd4, 0;\n"
    "$L: stacksave.u64 %rd5; alloca.u64 %rd6, %rd1; st.local.u64 [%rd6], %rd4;\n"
    "@%q stackrestore.u64 %rd5; add.u64 %rd4, %rd4, 1; st.global.u64 [%rd0+24], %rd4;\n"
    "setp.lt.u64 %p, %rd4, %rd2; @%p bra $L; ret;\n}\n"
    ".visible .entry astray(.param .u64 p)\n{\n.reg .b64 %rd<3>;\n"
    "ld.param.u64 %rd0, [p]; ld.global.u64 %rd1, [%rd0]; stackrestore.u64 %rd1; ret;\n}\n";

static struct ptxrun *start(void) {
    return ptxrun_create(pieces, strlen(pieces), 0);
}

Test(stack, each_lane_has_its_own_piece) {
    struct ptxrun *r = start();
    uint64_t *p = ptxrun_alloc(r, 70 * 8);
    for (int round = 0; round < 2; round++) {
        cr_assert_eq(ptxrun_launch(r, "fill", 3, 70, 1, (uint64_t)p), 0, "%s", r->result.text);
        for (uint64_t t = 0; t < 70; t++)
            cr_assert_eq(p[t], t * (t + 1), "thread %llu: %llu", (unsigned long long)t,
                         (unsigned long long)p[t]);
    }
    ptxrun_destroy(r);
}

Test(stack, what_is_given_back_can_be_taken_again) {
    struct ptxrun *r = start();
    uint64_t *p = ptxrun_alloc(r, 4 * 8);
    memcpy(p, (uint64_t[]){1000, 5000, 1, 0}, 32);
    cr_assert_eq(ptxrun_launch(r, "again", 1, 1, 1, (uint64_t)p), 0, "%s", r->result.text);
    cr_assert_eq(p[3], 5000);
    /* more than half of the stack: each block has a fresh one */
    memcpy(p, (uint64_t[]){1000, 900, 0, 0}, 32);
    cr_assert_eq(ptxrun_launch(r, "again", 4, 1, 1, (uint64_t)p), 0, "%s", r->result.text);
    memcpy(p, (uint64_t[]){1000, 5000, 0, 0}, 32);
    cr_assert_eq(ptxrun_launch(r, "again", 1, 1, 1, (uint64_t)p), ERR_LAUNCH_FAILED);
    cr_assert(strstr(r->result.text, "stack overflow"), "%s", r->result.text);
    cr_assert(p[3] >= 1000 && p[3] < 1050, "%llu of 1000 bytes in a MiB", (unsigned long long)p[3]);
    r->stack_bytes = 6 << 20;
    memcpy(p, (uint64_t[]){1000, 5000, 0, 0}, 32);
    cr_assert_eq(ptxrun_launch(r, "again", 1, 1, 1, (uint64_t)p), 0, "%s", r->result.text);
    cr_assert_eq(p[3], 5000, "as much as the limit says");
    ptxrun_destroy(r);
}

Test(stack, no_lane_leaves_its_own) {
    struct ptxrun *r = start();
    uint64_t *p = ptxrun_alloc(r, 4 * 8);
    static const uint64_t sizes[] = {UINT64_MAX, UINT64_MAX - 8, 1ull << 32, 1ull << 63, 2 << 20};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        memcpy(p, (uint64_t[]){sizes[i], 1, 0, 0}, 32);
        cr_assert_eq(ptxrun_launch(r, "again", 1, 32, 1, (uint64_t)p), ERR_LAUNCH_FAILED, "%zu", i);
        p[0] = sizes[i];
        cr_assert_eq(ptxrun_launch(r, "astray", 1, 32, 1, (uint64_t)p), ERR_LAUNCH_FAILED);
    }
    ptxrun_destroy(r);
}
