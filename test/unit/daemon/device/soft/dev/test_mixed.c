/* SPDX-License-Identifier: Apache-2.0
 *
 * Instructions of PTX 9.0 and 10.0 that the software GPU executes as several: halves added to f32,
 * vectors added in memory.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/err.h"
#include "test/lib/ptx/matrixref.h"
#include "test/lib/ptx/ptxrun.h"

static char text[4096];

/* k(p): `body` reads and writes 64 bytes of each thread at %p. */
static struct ptxrun *kernel(const char *body) {
    snprintf(text, sizeof(text),
             ".version 9.0\n.target sm_100\n.address_size 64\n.visible .entry k(.param .u64 kp) {\n"
             ".reg .b64 %%p,%%q;.reg .b32 %%t,%%r<9>;.reg .b16 %%h<9>;.reg .f32 %%f<9>;\n"
             "ld.param.u64 %%q,[kp];mov.u32 %%t,%%tid.x;mad.wide.u32 %%p,%%t,64,%%q;\n%s ret;}\n",
             body);
    struct ptxrun *r = ptxrun_create(text, strlen(text), 1);
    cr_assert(r->module, "%s\n%s", r->why, text);
    return r;
}

static float float_of(uint32_t bits) {
    float v;
    memcpy(&v, &bits, sizeof(v));
    return v;
}

/* ---- halves and f32 ------------------------------------------------------------------------- */

static void check_mixed(const char *op, const char *type, enum matrixref_kind kind) {
    char body[512];
    const bool fused = op[0] == 'f';
    snprintf(body, sizeof(body),
             "ld.global.b16 %%h0,[%%p];ld.global.b16 %%h1,[%%p+2];ld.global.f32 %%f0,[%%p+4];\n"
             "%s.rn.f32.%s %%f1,%%h0,%s%%f0;st.global.f32 [%%p+8],%%f1;\n",
             op, type, fused ? "%h1," : "");
    struct ptxrun *r = kernel(body);
    uint32_t *p = ptxrun_alloc(r, 32 * 64);
    for (int round = 0; round < 40; round++) {
        for (uint32_t k = 0; k < 32; k++) {
            p[16 * k] = (uint32_t)(matrixref_random(kind, round & 1) |
                                   matrixref_random(kind, round & 1) << 16);
            p[16 * k + 1] = (uint32_t)matrixref_random(F32, round & 1);
        }
        cr_assert_eq(ptxrun_launch(r, "k", 1, 32, 1, (uint64_t)(uintptr_t)p), 0);
        for (uint32_t k = 0; k < 32; k++) {
            const float a = (float)matrixref_value(kind, p[16 * k] & 0xffff);
            const float b = (float)matrixref_value(kind, p[16 * k] >> 16);
            const float c = float_of(p[16 * k + 1]);
            const float v = fused ? fmaf(a, b, c) : op[0] == 'a' ? a + c : a - c;
            cr_assert_eq(p[16 * k + 2], matrixref_bits(F32, 0, v), "%s %s of %x %x: %x", op, type,
                         p[16 * k], p[16 * k + 1], p[16 * k + 2]);
        }
    }
    ptxrun_destroy(r);
}

Test(mixed, halves_are_added_to_floats) {
    static const char *const ops[] = {"add", "sub", "fma"};
    for (int k = 0; k < 3; k++) {
        check_mixed(ops[k], "f16", F16);
        check_mixed(ops[k], "bf16", BF16);
    }
}

/* ---- vectors -----------------------------------------------------------------------------------
 */

Test(mixed, vectors_are_added_in_memory) {
    struct ptxrun *r =
        kernel("mov.f32 %f0,0f3F800000;mov.f32 %f1,0f40000000;mov.f32 %f2,0f40400000;mov.f32 "
               "%f3,0f40800000;\n"
               "red.global.add.v4.f32 [%q],{%f0,%f1,%f2,%f3};\n"
               "atom.global.v2.f32.add {%f4,_},[%p+16],{%f2,%f3};st.global.f32 [%p+48],%f4;\n"
               "mov.b32 %r0,0x3c004000;mov.b32 %r1,0x42004400;\n"
               "atom.global.v2.f16x2.add.noftz _,[%p+24],{%r0,%r1};\n"
               "mov.b16 %h0,0x3c00;mov.b16 %h1,0xc000;\n"
               "red.global.v2.f16.max.noftz [%p+32],{%h0,%h1};\n");
    uint32_t *p = ptxrun_alloc(r, 32 * 64);
    for (uint32_t k = 0; k < 32; k++) {
        p[16 * k + 4] = 0x3f800000;
        p[16 * k + 7] = 0x00003c00;
        p[16 * k + 8] = 0xbc000000;
    }
    cr_assert_eq(ptxrun_launch(r, "k", 1, 32, 1, (uint64_t)(uintptr_t)p), 0, "%s", r->result.text);
    for (uint32_t k = 0; k < 4; k++)
        cr_assert_float_eq(float_of(p[k]), 32.0f * (float)(k + 1), 0, "%u", k);
    for (uint32_t k = 0; k < 32; k++) {
        const uint32_t *at = p + 16 * k;
        cr_assert_eq(at[4], 0x40800000);
        cr_assert_eq(at[5], 0x40800000);
        cr_assert_eq(at[6], 0x3c004000);
        cr_assert_eq(at[7], 0x42004500);
        cr_assert_eq(at[8], 0xbc003c00, "%x", at[8]);
        cr_assert_eq(at[12], 0x3f800000, "what was there");
    }
    ptxrun_destroy(r);
}

Test(mixed, nothing_behind_the_memory_is_added_to) {
    struct ptxrun *r = kernel("mov.f32 %f0,0f3F800000;red.global.add.v2.f32 [%p+48],{%f0,%f0};\n");
    uint32_t *p = ptxrun_alloc(r, 52);
    cr_assert_eq(ptxrun_launch(r, "k", 1, 1, 1, (uint64_t)(uintptr_t)p), ERR_ILLEGAL_ADDRESS);
    ptxrun_destroy(r);
}
