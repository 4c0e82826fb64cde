/* SPDX-License-Identifier: Apache-2.0
 *
 * The device code of the program, as text. INDEX sets %r1 to the thread's number in the grid, and
 * ends the thread if that is not below %r2.
 */
#ifndef TEST_E2E_DRIVER_CODE_H
#define TEST_E2E_DRIVER_CODE_H

#define INDEX                          \
    "mov.u32 %r3, %ctaid.x;\n"         \
    "mov.u32 %r4, %ntid.x;\n"          \
    "mov.u32 %r5, %tid.x;\n"           \
    "mad.lo.u32 %r1, %r3, %r4, %r5;\n" \
    "setp.ge.u32 %p1, %r1, %r2;\n"     \
    "@%p1 ret;\n"

#define REGISTERS ".reg .pred %p<4>; .reg .u32 %r<16>; .reg .u64 %d<8>; .reg .f32 %f<8>;\n"

/* %d1: the address of the thread's word in the array that begins at the first parameter. */
#define WORD                   \
    "ld.param.u64 %d1, [p];\n" \
    "ld.param.u32 %r2, [n];\n" \
    "ld.param.u32 %r6, [v];\n" INDEX "mad.wide.u32 %d1, %r1, 4, %d1;\n"

#define DRIVER_CODE                                                                          \
    ".version 7.8\n.target sm_75\n.address_size 64\n"                                        \
    ".visible .global .align 4 .u32 counter = 7;\n"                                          \
    ".visible .entry fill(.param .u64 p, .param .u32 n, .param .u32 v) {\n" REGISTERS WORD   \
    "mad.lo.u32 %r7, %r1, 2654435761, %r6;\n"                                                \
    "st.global.u32 [%d1], %r7;\nret;\n}\n"                                                   \
    ".visible .entry count(.param .u64 p, .param .u32 n, .param .u32 v, .param .u64 other) " \
    "{\n" REGISTERS WORD "mad.lo.u32 %r7, %r1, 2654435761, %r6;\n"                           \
    "ld.global.u32 %r8, [%d1];\n"                                                            \
    "setp.eq.u32 %p2, %r7, %r8;\n"                                                           \
    "@%p2 ret;\n"                                                                            \
    "ld.param.u64 %d2, [other];\n"                                                           \
    "red.global.add.u32 [%d2], 1;\nret;\n}\n"                                                \
    ".visible .entry add(.param .u64 p, .param .u32 n, .param .u32 v) {\n" REGISTERS WORD    \
    "ld.global.u32 %r7, [%d1];\n"                                                            \
    "mad.lo.u32 %r7, %r7, 3, %r6;\n"                                                         \
    "st.global.u32 [%d1], %r7;\nret;\n}\n"                                                   \
    ".visible .entry bump(.param .u64 out, .param .u32 by) {\n" REGISTERS                    \
    "ld.param.u64 %d1, [out];\n"                                                             \
    "ld.param.u32 %r1, [by];\n"                                                              \
    "atom.global.add.u32 %r2, [counter], %r1;\n"                                             \
    "add.u32 %r2, %r2, %r1;\n"                                                               \
    "st.global.u32 [%d1], %r2;\nret;\n}\n"                                                   \
    ".visible .entry wild(.param .u64 at) {\n" REGISTERS "ld.param.u64 %d1, [at];\n"         \
    "st.global.u32 [%d1], 1;\nret;\n}\n"                                                     \
    ".visible .entry endless(.param .u64 stop) {\n" REGISTERS "ld.param.u64 %d1, [stop];\n"  \
    "again: ld.volatile.global.u32 %r1, [%d1];\n"                                            \
    "setp.eq.u32 %p1, %r1, 0;\n"                                                             \
    "@%p1 bra again;\nret;\n}\n"

/* Blocks of a cluster write their rank in it, and blocks of a cooperative grid their number. */
#define DRIVER_CLUSTER_CODE                                                            \
    ".version 7.8\n.target sm_90\n.address_size 64\n"                                  \
    ".visible .entry rank(.param .u64 out) {\n" REGISTERS "ld.param.u64 %d1, [out];\n" \
    "mov.u32 %r1, %ctaid.x;\n"                                                         \
    "mov.u32 %r2, %cluster_ctarank;\n"                                                 \
    "mov.u32 %r3, %cluster_nctarank;\n"                                                \
    "mad.lo.u32 %r2, %r3, 100, %r2;\n"                                                 \
    "mad.wide.u32 %d1, %r1, 4, %d1;\n"                                                 \
    "st.global.u32 [%d1], %r2;\nret;\n}\n"

/* out[i] = tex((i + 0.5) * scale, 0.1) and surf(i) = i + 1000: the first row of floats, with
 * normalized coordinates or not. */
#define DRIVER_TEXTURE_CODE                                                                       \
    ".version 7.8\n.target sm_75\n.address_size 64\n"                                             \
    ".visible .entry sample(.param .u64 tex, .param .u64 out, .param .u32 n, .param .f32 scale) " \
    "{\n" REGISTERS ".reg .f32 %t<4>;\n"                                                          \
    "ld.param.u64 %d3, [tex];\n"                                                                  \
    "ld.param.u64 %d1, [out];\n"                                                                  \
    "ld.param.u32 %r2, [n];\n" INDEX "cvt.rn.f32.u32 %f1, %r1;\n"                                 \
    "add.f32 %f1, %f1, 0f3f000000;\n"                                                             \
    "ld.param.f32 %f2, [scale];\n"                                                                \
    "mul.f32 %f1, %f1, %f2;\n"                                                                    \
    "mov.f32 %f2, 0f3dcccccd;\n"                                                                  \
    "tex.2d.v4.f32.f32 {%t0, %t1, %t2, %t3}, [%d3, {%f1, %f2}];\n"                                \
    "mad.wide.u32 %d1, %r1, 4, %d1;\n"                                                            \
    "st.global.f32 [%d1], %t0;\nret;\n}\n"                                                        \
    ".visible .entry store(.param .u64 surf, .param .u32 n) {\n" REGISTERS                        \
    "ld.param.u64 %d3, [surf];\n"                                                                 \
    "ld.param.u32 %r2, [n];\n" INDEX "add.u32 %r6, %r1, 1000;\n"                                  \
    "cvt.rn.f32.u32 %f1, %r6;\n"                                                                  \
    "mov.b32 %r7, %f1;\n"                                                                         \
    "shl.b32 %r8, %r1, 2;\n"                                                                      \
    "mov.u32 %r9, 0;\n"                                                                           \
    "sust.b.2d.b32.trap [%d3, {%r8, %r9}], {%r7};\nret;\n}\n"

#endif
