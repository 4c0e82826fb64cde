/* SPDX-License-Identifier: Apache-2.0
 *
 * Alignment of variables in every memory space, checked on the addresses that kernels see.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/lib/ptx/ptxrun.h"

#define LANES 40 /* more than a warp */
#define LEVELS 3
#define DEPTH 4

/* A kernel and two functions with local arrays; each reports its array's address. The innermost
 * function calls itself, and is also called through a pointer. */
static const char local_text[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".func inner(.param .b64 out, .param .b32 depth) {\n"
    ".local .align %u .b8 mine[%u]; .reg .b64 %%a, %%o; .reg .b32 %%d; .reg .pred %%p;\n"
    "mov.u64 %%a, mine; cvta.local.u64 %%a, %%a; ld.param.u64 %%o, [out]; ld.param.u32 %%d, "
    "[depth];\n"
    "st.global.u64 [%%o], %%a; st.u8 [%%a+%u], 1; setp.eq.u32 %%p, %%d, 0; @%%p ret;\n"
    "add.u64 %%o, %%o, 8; sub.u32 %%d, %%d, 1;\n"
    "{ .param .b64 x; .param .b32 y; st.param.b64 [x], %%o; st.param.b32 [y], %%d;\n"
    "call inner, (x, y); } ret; }\n"
    ".func middle(.param .b64 out) {\n"
    ".local .align %u .b8 mine[%u]; .reg .b64 %%a, %%o, %%f;\n"
    "mov.u64 %%a, mine; cvta.local.u64 %%a, %%a; ld.param.u64 %%o, [out];\n"
    "st.global.u64 [%%o], %%a; add.u64 %%o, %%o, 8; mov.u64 %%f, inner;\n"
    "{ .param .b64 x; .param .b32 y; st.param.b64 [x], %%o; st.param.b32 [y], %u;\n"
    "P: .callprototype _ (.param .b64 _, .param .b32 _); call %%f, (x, y), P; } ret; }\n"
    ".visible .entry main(.param .u64 out) {\n"
    ".local .align %u .b8 mine[%u]; .reg .b64 %%a, %%o; .reg .b32 %%t;\n"
    "mov.u64 %%a, mine; cvta.local.u64 %%a, %%a; ld.param.u64 %%o, [out]; mov.u32 %%t, %%tid.x;\n"
    "mad.wide.u32 %%o, %%t, %u, %%o; st.global.u64 [%%o], %%a; add.u64 %%o, %%o, 8;\n"
    "{ .param .b64 x; st.param.b64 [x], %%o; call middle, (x); } ret; }\n";

#define ARRAYS (LEVELS - 1 + DEPTH) /* arrays of a lane: the kernel's, middle's, inner's */

static int by_address(const void *a, const void *b) {
    const uint64_t *x = a, *y = b;
    return x[0] < y[0] ? -1 : x[0] > y[0];
}

static void check_local(const uint32_t align[LEVELS], const uint32_t bytes[LEVELS]) {
    char text[4096];
    snprintf(text, sizeof(text), local_text, align[2], bytes[2], bytes[2] - 1, align[1], bytes[1],
             DEPTH - 1, align[0], bytes[0], ARRAYS * 8);
    struct ptxrun *r = ptxrun_create(text, strlen(text), 0);
    uint64_t *out = ptxrun_alloc(r, LANES * ARRAYS * 8), spans[LANES * ARRAYS][2];
    cr_assert_eq(ptxrun_launch(r, "main", 1, LANES, 1, (uint64_t)out), 0, "%s%s", r->why,
                 r->result.text);
    for (uint32_t k = 0; k < LANES * ARRAYS; k++) {
        uint32_t level = k % ARRAYS < LEVELS ? k % ARRAYS : LEVELS - 1;
        cr_assert_eq(out[k] % align[level], 0, "align %u %u %u: lane %u, array %u lies at 0x%llx",
                     align[0], align[1], align[2], k / ARRAYS, k % ARRAYS,
                     (unsigned long long)out[k]);
        spans[k][0] = out[k];
        spans[k][1] = out[k] + bytes[level];
    }
    qsort(spans, LANES * ARRAYS, sizeof(spans[0]), by_address);
    for (uint32_t k = 1; k < LANES * ARRAYS; k++)
        cr_assert_geq(spans[k][0], spans[k - 1][1], "arrays overlap");
    ptxrun_destroy(r);
}

Test(align, local_arrays_of_callees) {
    static const uint32_t aligns[] = {1, 16, 32, 64, 128, 512};
    enum { N = sizeof(aligns) / sizeof(aligns[0]) };
    for (uint32_t k = 0; k < N * N * N; k++) {
        const uint32_t align[] = {aligns[k % N], aligns[k / N % N], aligns[k / N / N]};
        const uint32_t bytes[] = {1 + k % 7 * 24, 5 + k % 5 * 40, 3 + k % 11 * 16};
        check_local(align, bytes);
    }
}

/* A structure by value: the caller's copy and the callee's. */
static const char value_text[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".func (.param .b64 r) callee(.param .b32 odd, .param .align 128 .b8 s[130]) {\n"
    ".reg .b64 %a; mov.b64 %a, s; cvta.local.u64 %a, %a; st.param.b64 [r], %a; ret; }\n"
    ".visible .entry main(.param .u64 out) {\n"
    ".local .b8 odd[20]; .reg .b64 %a, %o; .reg .b32 %t;\n"
    "ld.param.u64 %o, [out]; mov.u32 %t, %tid.x; mad.wide.u32 %o, %t, 8, %o; st.local.u8 [odd+19], "
    "1;\n"
    "{ .param .b32 x; .param .align 128 .b8 y[130]; .param .b64 z;\n"
    "st.param.b32 [x], 1; st.param.b8 [y+129], 2; call (z), callee, (x, y); ld.param.b64 %a, [z]; "
    "}\n"
    "st.global.u64 [%o], %a; ret; }\n";

Test(align, parameters_of_functions) {
    struct ptxrun *r = ptxrun_create(value_text, strlen(value_text), 0);
    uint64_t *out = ptxrun_alloc(r, LANES * 8);
    cr_assert_eq(ptxrun_launch(r, "main", 1, LANES, 1, (uint64_t)out), 0, "%s%s", r->why,
                 r->result.text);
    for (uint32_t l = 0; l < LANES; l++)
        cr_assert_eq(out[l] % 128, 0, "lane %u: 0x%llx", l, (unsigned long long)out[l]);
    ptxrun_destroy(r);
}

/* A stack of known size, because there is no recursion: the size includes alignment. */
static const char chain_text[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".func leaf() { .local .align 512 .b8 mine[512]; .reg .b32 %r; mov.u32 %r, 1;\n"
    "st.local.u32 [mine+508], %r; ret; }\n"
    ".visible .entry main() { .local .align 16 .b8 mine[16]; .reg .b32 %r; mov.u32 %r, 1;\n"
    "st.local.u32 [mine+12], %r; call leaf; ret; }\n";

Test(align, stacks_have_room_for_it) {
    struct ptxrun *r = ptxrun_create(chain_text, strlen(chain_text), 0);
    cr_assert_eq(ptxrun_launch(r, "main", 1, LANES, 0), 0, "%s%s", r->why, r->result.text);
    ptxrun_destroy(r);
}

/* Objects that all threads share: shared, global and constant variables, a kernel's parameter. */
static const char places_text[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".global .b8 g0[3]; .global .align 1024 .b8 g1[5]; .const .b8 c0[3]; .const .align 256 .b8 "
    "c1[2];\n"
    ".shared .align 4 .b8 s0[20]; .shared .align 2048 .b8 s1[12];\n"
    ".extern .shared .align 512 .b8 dynamic[];\n"
    ".visible .entry main(.param .u64 out, .param .align 256 .b8 p[8]) {\n"
    ".shared .align 128 .b8 s2[4]; .reg .b64 %a, %o; ld.param.u64 %o, [out];\n"
    "mov.u64 %a, g1; st.global.u64 [%o], %a;\n"
    "mov.u64 %a, c1; cvta.const.u64 %a, %a; st.global.u64 [%o+8], %a;\n"
    "mov.u64 %a, s0; cvta.shared.u64 %a, %a; st.global.u64 [%o+16], %a;\n"
    "mov.u64 %a, s1; cvta.shared.u64 %a, %a; st.global.u64 [%o+24], %a;\n"
    "mov.u64 %a, s2; cvta.shared.u64 %a, %a; st.global.u64 [%o+32], %a;\n"
    "mov.u64 %a, dynamic; cvta.shared.u64 %a, %a; st.global.u64 [%o+40], %a; st.u8 [%a+99], 1;\n"
    "mov.b64 %a, p; cvta.param.u64 %a, %a; st.global.u64 [%o+48], %a;\n"
    "mov.u64 %a, g0; mov.u64 %a, c0; ret; }\n";

Test(align, variables_of_blocks_and_modules) {
    static const uint32_t want[] = {1024, 256, 4, 2048, 128, 512, 256};
    struct ptxrun *r = ptxrun_create(places_text, strlen(places_text), 0);
    uint64_t *out = ptxrun_alloc(r, sizeof(want) * 2);
    r->shared = 100; /* dynamic shared memory */
    for (int round = 0; round < 8; round++) {
        cr_assert_eq(ptxrun_launch(r, "main", 1, 1, 1, (uint64_t)out), 0, "%s%s", r->why,
                     r->result.text);
        for (size_t k = 0; k < sizeof(want) / sizeof(want[0]); k++)
            cr_assert_eq(out[k] % want[k], 0, "variable %zu: 0x%llx", k,
                         (unsigned long long)out[k]);
        free(malloc(1000u << round)); /* moves the next blocks to other addresses */
    }
    ptxrun_destroy(r);
}
