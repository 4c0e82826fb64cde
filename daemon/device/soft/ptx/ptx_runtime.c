/* SPDX-License-Identifier: Apache-2.0
 *
 * The PTX of the device runtime. A grid's handle is the address of its workspace, or 0 if the
 * launch was not cooperative. The workspace has 256 bytes. CUDA's headers use the first 8, in which
 * they synchronise grids by themselves. Here offset 64 counts the blocks that have arrived, and
 * offset 68 how many times all blocks had arrived.
 */
#include "daemon/device/soft/ptx/ptx_runtime.h"
#include "daemon/device/soft/ptx/ptx_parse.h"

#include <stddef.h>

const char ptx_runtime_text[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .func (.param .b64 handle) cudaCGGetIntrinsicHandle(.param .b32 scope)\n{\n"
    ".reg .b32 %r<3>; .reg .b64 %rd; .reg .pred %p;\n"
    "ld.param.u32 %r0, [scope]; mov.u32 %r1, %envreg1; mov.u32 %r2, %envreg2;\n"
    "mov.b64 %rd, {%r2, %r1}; setp.eq.u32 %p, %r0, 1;\n" /* cudaCGScopeGrid */
    "selp.b64 %rd, %rd, 0, %p; st.param.b64 [handle], %rd; ret;\n}\n"

    /* A handle is valid if it is this grid's; a grid without a workspace has no valid handle. */
    ".func (.param .b32 valid) __salus_cg_valid(.param .b64 handle)\n{\n"
    ".reg .b32 %r<3>; .reg .b64 %rd<2>; .reg .pred %p, %q;\n"
    "ld.param.u64 %rd0, [handle]; mov.u32 %r1, %envreg1; mov.u32 %r2, %envreg2;\n"
    "mov.b64 %rd1, {%r2, %r1}; setp.eq.u64 %p, %rd0, %rd1; setp.ne.and.u64 %q, %rd0, 0, %p;\n"
    "selp.b32 %r0, 1, 0, %q; st.param.b32 [valid], %r0; ret;\n}\n"

    ".visible .func (.param .b32 error) cudaCGSynchronize(.param .b64 handle, .param .b32 flags)\n"
    "{\n.reg .b32 %r<12>; .reg .b64 %rd; .reg .pred %p<4>; .param .b64 h; .param .b32 v;\n"
    "ld.param.u64 %rd, [handle]; st.param.b64 [h], %rd;\n"
    "call (v), __salus_cg_valid, (h); ld.param.b32 %r0, [v]; setp.ne.u32 %p0, %r0, 0;\n"
    "@%p0 bra ARRIVE; st.param.b32 [error], 999; ret;\n" /* cudaErrorUnknown */
    "ARRIVE: barrier.sync 0;\n"
    "mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y; mov.u32 %r3, %tid.z;\n"
    "or.b32 %r4, %r1, %r2; or.b32 %r4, %r4, %r3; setp.ne.u32 %p1, %r4, 0; @%p1 bra LEAVE;\n"
    "mov.u32 %r1, %nctaid.x; mov.u32 %r2, %nctaid.y; mov.u32 %r3, %nctaid.z;\n"
    "mul.lo.u32 %r5, %r1, %r2; mul.lo.u32 %r5, %r5, %r3; sub.u32 %r5, %r5, 1;\n"
    "ld.relaxed.gpu.u32 %r6, [%rd + 68]; atom.acq_rel.gpu.add.u32 %r7, [%rd + 64], 1;\n"
    "setp.ne.u32 %p2, %r7, %r5; @%p2 bra WAIT;\n"
    "st.relaxed.gpu.u32 [%rd + 64], 0; red.release.gpu.add.u32 [%rd + 68], 1; bra LEAVE;\n"
    "WAIT: ld.acquire.gpu.u32 %r8, [%rd + 68]; setp.eq.u32 %p3, %r8, %r6; @%p3 bra WAIT;\n"
    "LEAVE: barrier.sync 0; st.param.b32 [error], 0; ret;\n}\n"

    ".visible .func (.param .b32 error) cudaCGSynchronizeGrid(.param .b64 handle, .param .b32 f)\n"
    "{\n.reg .b32 %r; .reg .b64 %rd; .param .b64 h; .param .b32 g; .param .b32 e;\n"
    "ld.param.u64 %rd, [handle]; st.param.b64 [h], %rd; st.param.b32 [g], 0;\n"
    "call (e), cudaCGSynchronize, (h, g);\n"
    "ld.param.b32 %r, [e]; st.param.b32 [error], %r; ret;\n}\n"

    /* Stores *a = x and *b = y if the pointers are not NULL; stores zeros if the handle is not the
     * grid's. */
    ".func (.param .b32 error) __salus_cg_tell(.param .b64 a, .param .b64 b, .param .b64 handle,\n"
    ".param .b32 x, .param .b32 y)\n"
    "{\n.reg .b32 %r<4>; .reg .b64 %rd<3>; .reg .pred %p<3>; .param .b64 h; .param .b32 v;\n"
    "ld.param.u64 %rd0, [a]; ld.param.u64 %rd1, [b]; ld.param.u64 %rd2, [handle];\n"
    "ld.param.u32 %r0, [x]; ld.param.u32 %r1, [y]; st.param.b64 [h], %rd2;\n"
    "call (v), __salus_cg_valid, (h); ld.param.b32 %r2, [v]; setp.ne.u32 %p0, %r2, 0;\n"
    "selp.b32 %r0, %r0, 0, %p0; selp.b32 %r1, %r1, 0, %p0; selp.b32 %r3, 0, 999, %p0;\n"
    "setp.ne.u64 %p1, %rd0, 0; setp.ne.u64 %p2, %rd1, 0;\n"
    "@%p1 st.u32 [%rd0], %r0; @%p2 st.u32 [%rd1], %r1; st.param.b32 [error], %r3; ret;\n}\n"

    ".visible .func (.param .b32 error) cudaCGGetSize(.param .b64 threads, .param .b64 grids,\n"
    ".param .b64 handle)\n"
    "{\n.reg .b32 %r<7>; .reg .b64 %rd<3>; .param .b64 a, b, h; .param .b32 x, y, e;\n"
    "mov.u32 %r0, %ntid.x; mov.u32 %r1, %ntid.y; mov.u32 %r2, %ntid.z;\n"
    "mov.u32 %r3, %nctaid.x; mov.u32 %r4, %nctaid.y; mov.u32 %r5, %nctaid.z;\n"
    "mul.lo.u32 %r0, %r0, %r1; mul.lo.u32 %r0, %r0, %r2; mul.lo.u32 %r0, %r0, %r3;\n"
    "mul.lo.u32 %r0, %r0, %r4; mul.lo.u32 %r0, %r0, %r5;\n"
    "ld.param.u64 %rd0, [threads]; ld.param.u64 %rd1, [grids]; ld.param.u64 %rd2, [handle];\n"
    "st.param.b64 [a], %rd0; st.param.b64 [b], %rd1; st.param.b64 [h], %rd2;\n"
    "st.param.b32 [x], %r0; st.param.b32 [y], 1;\n"
    "call (e), __salus_cg_tell, (a, b, h, x, y);\n"
    "ld.param.b32 %r6, [e]; st.param.b32 [error], %r6; ret;\n}\n"

    ".visible .func (.param .b32 error) cudaCGGetRank(.param .b64 thread, .param .b64 grid,\n"
    ".param .b64 handle)\n"
    "{\n.reg .b32 %r<12>; .reg .b64 %rd<3>; .param .b64 a, b, h; .param .b32 x, y, e;\n"
    "mov.u32 %r0, %nctaid.x; mov.u32 %r1, %nctaid.y; mov.u32 %r2, %ntid.x;\n"
    "mov.u32 %r3, %ntid.y; mov.u32 %r4, %ntid.z;\n"
    "mov.u32 %r5, %ctaid.z; mov.u32 %r6, %ctaid.y; mad.lo.u32 %r5, %r5, %r1, %r6;\n"
    "mov.u32 %r6, %ctaid.x; mad.lo.u32 %r5, %r5, %r0, %r6;\n"
    "mov.u32 %r6, %tid.z; mad.lo.u32 %r5, %r5, %r4, %r6;\n"
    "mov.u32 %r6, %tid.y; mad.lo.u32 %r5, %r5, %r3, %r6;\n"
    "mov.u32 %r6, %tid.x; mad.lo.u32 %r5, %r5, %r2, %r6;\n"
    "ld.param.u64 %rd0, [thread]; ld.param.u64 %rd1, [grid]; ld.param.u64 %rd2, [handle];\n"
    "st.param.b64 [a], %rd0; st.param.b64 [b], %rd1; st.param.b64 [h], %rd2;\n"
    "st.param.b32 [x], %r5; st.param.b32 [y], 0;\n"
    "call (e), __salus_cg_tell, (a, b, h, x, y);\n"
    "ld.param.b32 %r7, [e]; st.param.b32 [error], %r7; ret;\n}\n"

    /* The handle of a graph's condition is the address of its word. */
    ".visible .func cudaGraphSetConditional(.param .b64 handle, .param .b32 value)\n"
    "{\n.reg .b32 %r; .reg .b64 %rd;\n"
    "ld.param.u64 %rd, [handle]; ld.param.u32 %r, [value]; st.u32 [%rd], %r; ret;\n}\n"

    /* The handle of a kernel node is the address of its record: whether it runs (offset 0), its
     * grid of three words (4), the bytes of its parameters (16), a magic number (20), the
     * parameters (24). */
    ".func (.param .b32 error) __salus_node_enable(.param .b64 node, .param .b32 value)\n"
    "{\n.reg .b32 %r<3>; .reg .b64 %rd; .reg .pred %p;\n"
    "ld.param.u64 %rd, [node]; ld.param.u32 %r0, [value]; st.param.b32 [error], 1;\n"
    "ld.u32 %r1, [%rd + 20]; setp.ne.u32 %p, %r1, 0x5361a5c3; @%p ret;\n"
    "setp.ne.u32 %p, %r0, 0; selp.b32 %r2, 1, 0, %p; st.u32 [%rd], %r2;\n"
    "st.param.b32 [error], 0; ret;\n}\n"

    ".func (.param .b32 error) __salus_node_grid(.param .b64 node, .param .b32 x, .param .b32 y,\n"
    ".param .b32 z)\n"
    "{\n.reg .b32 %r<6>; .reg .b64 %rd; .reg .pred %p<3>;\n"
    "ld.param.u64 %rd, [node]; ld.param.u32 %r0, [x]; ld.param.u32 %r1, [y];\n"
    "ld.param.u32 %r2, [z]; st.param.b32 [error], 1;\n"
    "ld.u32 %r3, [%rd + 20]; setp.ne.u32 %p0, %r3, 0x5361a5c3; @%p0 ret;\n"
    "sub.u32 %r3, %r0, 1; setp.ge.u32 %p0, %r3, 0x7fffffff;\n"
    "sub.u32 %r4, %r1, 1; setp.ge.or.u32 %p1, %r4, 65535, %p0;\n"
    "sub.u32 %r5, %r2, 1; setp.ge.or.u32 %p2, %r5, 65535, %p1; @%p2 ret;\n"
    "st.u32 [%rd + 4], %r0; st.u32 [%rd + 8], %r1; st.u32 [%rd + 12], %r2;\n"
    "st.param.b32 [error], 0; ret;\n}\n"

    ".func (.param .b32 error) __salus_node_param(.param .b64 node, .param .b64 offset,\n"
    ".param .b64 value, .param .b64 bytes)\n"
    "{\n.reg .b32 %r<3>; .reg .b64 %rd<6>; .reg .pred %p; .reg .b16 %h;\n"
    "ld.param.u64 %rd0, [node]; ld.param.u64 %rd1, [offset]; ld.param.u64 %rd2, [value];\n"
    "ld.param.u64 %rd3, [bytes]; st.param.b32 [error], 1;\n"
    "ld.u32 %r0, [%rd0 + 20]; setp.ne.u32 %p, %r0, 0x5361a5c3; @%p ret;\n"
    "ld.u32 %r1, [%rd0 + 16]; cvt.u64.u32 %rd4, %r1; setp.gt.u64 %p, %rd1, %rd4; @%p ret;\n"
    "sub.u64 %rd4, %rd4, %rd1; setp.gt.u64 %p, %rd3, %rd4; @%p ret;\n"
    "add.u64 %rd0, %rd0, %rd1; add.u64 %rd5, %rd2, %rd3;\n"
    "MORE: setp.ge.u64 %p, %rd2, %rd5; @%p bra DONE;\n"
    "ld.u8 %h, [%rd2]; st.u8 [%rd0 + 24], %h;\n"
    "add.u64 %rd2, %rd2, 1; add.u64 %rd0, %rd0, 1; bra MORE;\n"
    "DONE: st.param.b32 [error], 0; ret;\n}\n"

    ".visible .func (.param .b32 error) cudaGraphKernelNodeSetEnabled(.param .b64 node,\n"
    ".param .b32 value)\n"
    "{\n.reg .b32 %r; .reg .b64 %rd; .param .b64 n; .param .b32 v, e;\n"
    "ld.param.u64 %rd, [node]; ld.param.u8 %r, [value];\n" /* a bool */
    "st.param.b64 [n], %rd; st.param.b32 [v], %r; call (e), __salus_node_enable, (n, v);\n"
    "ld.param.b32 %r, [e]; st.param.b32 [error], %r; ret;\n}\n"

    ".visible .func (.param .b32 error) cudaGraphKernelNodeSetGridDim(.param .b64 node,\n"
    ".param .align 4 .b8 grid[12])\n"
    "{\n.reg .b32 %r<3>; .reg .b64 %rd; .param .b64 n; .param .b32 x, y, z, e;\n"
    "ld.param.u64 %rd, [node]; ld.param.u32 %r0, [grid]; ld.param.u32 %r1, [grid + 4];\n"
    "ld.param.u32 %r2, [grid + 8]; st.param.b64 [n], %rd; st.param.b32 [x], %r0;\n"
    "st.param.b32 [y], %r1; st.param.b32 [z], %r2; call (e), __salus_node_grid, (n, x, y, z);\n"
    "ld.param.b32 %r0, [e]; st.param.b32 [error], %r0; ret;\n}\n"

    ".visible .func (.param .b32 error) cudaGraphKernelNodeSetParam(.param .b64 node,\n"
    ".param .b64 offset, .param .b64 value, .param .b64 bytes)\n"
    "{\n.reg .b32 %r; .reg .b64 %rd<4>; .param .b64 n, o, v, b; .param .b32 e;\n"
    "ld.param.u64 %rd0, [node]; ld.param.u64 %rd1, [offset]; ld.param.u64 %rd2, [value];\n"
    "ld.param.u64 %rd3, [bytes]; st.param.b64 [n], %rd0; st.param.b64 [o], %rd1;\n"
    "st.param.b64 [v], %rd2; st.param.b64 [b], %rd3;\n"
    "call (e), __salus_node_param, (n, o, v, b);\n"
    "ld.param.b32 %r, [e]; st.param.b32 [error], %r; ret;\n}\n"

    /* An update has 40 bytes: the node (offset 0), what to change (8), and the value (16). The
     * value is a grid; or a pointer, an offset and a size; or whether the node runs. The first
     * invalid update ends the call. */
    ".visible .func (.param .b32 error) cudaGraphKernelNodeUpdatesApply(.param .b64 updates,\n"
    ".param .b64 count)\n"
    "{\n.reg .b32 %r<6>; .reg .b64 %rd<6>; .reg .pred %p;\n"
    ".param .b64 n, o, v, b; .param .b32 x, y, z, e;\n"
    "ld.param.u64 %rd0, [updates]; ld.param.u64 %rd1, [count]; mov.u32 %r0, 0;\n"
    "NEXT: setp.eq.u64 %p, %rd1, 0; @%p bra LEAVE; sub.u64 %rd1, %rd1, 1;\n"
    "ld.u64 %rd2, [%rd0]; st.param.b64 [n], %rd2; ld.u32 %r1, [%rd0 + 8];\n"
    "setp.eq.u32 %p, %r1, 1; @%p bra GRID; setp.eq.u32 %p, %r1, 2; @%p bra PARAM;\n"
    "setp.eq.u32 %p, %r1, 3; @%p bra ENABLED; mov.u32 %r0, 1; bra LEAVE;\n"
    "GRID: ld.u32 %r2, [%rd0 + 16]; ld.u32 %r3, [%rd0 + 20]; ld.u32 %r4, [%rd0 + 24];\n"
    "st.param.b32 [x], %r2; st.param.b32 [y], %r3; st.param.b32 [z], %r4;\n"
    "call (e), __salus_node_grid, (n, x, y, z); ld.param.b32 %r0, [e]; bra LOOK;\n"
    "PARAM: ld.u64 %rd3, [%rd0 + 16]; ld.u64 %rd4, [%rd0 + 24]; ld.u64 %rd5, [%rd0 + 32];\n"
    "st.param.b64 [v], %rd3; st.param.b64 [o], %rd4; st.param.b64 [b], %rd5;\n"
    "call (e), __salus_node_param, (n, o, v, b); ld.param.b32 %r0, [e]; bra LOOK;\n"
    "ENABLED: ld.u32 %r2, [%rd0 + 16]; st.param.b32 [x], %r2;\n"
    "call (e), __salus_node_enable, (n, x); ld.param.b32 %r0, [e];\n"
    "LOOK: add.u64 %rd0, %rd0, 40; setp.eq.u32 %p, %r0, 0; @%p bra NEXT;\n"
    "LEAVE: st.param.b32 [error], %r0; ret;\n}\n";

bool ptx_runtime_wanted(const struct ptx_module *unit) {
    static const char *const names[] = {"cudaCGGetIntrinsicHandle",
                                        "cudaCGSynchronize",
                                        "cudaCGSynchronizeGrid",
                                        "cudaCGGetSize",
                                        "cudaCGGetRank",
                                        "cudaGraphSetConditional",
                                        "cudaGraphKernelNodeSetEnabled",
                                        "cudaGraphKernelNodeSetGridDim",
                                        "cudaGraphKernelNodeSetParam",
                                        "cudaGraphKernelNodeUpdatesApply"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const struct ptx_func *f = ptx_find_func(unit, names[i]);
        if (f && !f->defined) return true;
    }
    return false;
}
