/* SPDX-License-Identifier: Apache-2.0
 *
 * See gpu.h.
 */
#include "test/bench/lib/gpu.h"

#include <stdio.h>
#include <stdlib.h>

static const char gpu_ptx[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".visible .entry null8(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d,\n"
    "  .param .u32 e, .param .u32 f, .param .u32 g, .param .u32 h)\n{ ret; }\n"
    ".visible .entry turns(.param .u64 count, .param .u32 n)\n{\n"
    "  .reg .pred %p<2>;\n  .reg .b32 %r<6>;\n  .reg .b64 %rd<3>;\n"
    "  ld.param.u64 %rd1, [count];\n  cvta.to.global.u64 %rd2, %rd1;\n"
    "  ld.param.u32 %r1, [n];\n  mov.u32 %r2, 1;\n"
    "L1:\n  mad.lo.s32 %r2, %r2, 1664525, 1013904223;\n"
    "  sub.u32 %r1, %r1, 1;\n  setp.ne.u32 %p1, %r1, 0;\n  @%p1 bra L1;\n"
    "  or.b32 %r3, %r2, 1;\n  setp.eq.u32 %p1, %r3, 0;\n  selp.u32 %r4, 2, 1, %p1;\n"
    "  atom.global.add.u32 %r5, [%rd2], %r4;\n  ret;\n}\n";

static CUdeviceptr gpu_pointers[4];
static unsigned int gpu_ints[4] = {1, 2, 3, 4};
void *gpu_null8_params[8] = {&gpu_pointers[0], &gpu_pointers[1], &gpu_pointers[2], &gpu_pointers[3],
                             &gpu_ints[0],     &gpu_ints[1],     &gpu_ints[2],     &gpu_ints[3]};

void gpu_check(CUresult result, const char *call) {
    const char *name = NULL;
    if (!result) return;
    cuGetErrorName(result, &name);
    fprintf(stderr, "%s: %s (%d)\n", call, name ? name : "?", (int)result);
    exit(1);
}

void gpu_start(struct gpu *g) {
    CUdevice device;
    CUmodule module;
    GPU(cuInit(0));
    GPU(cuDeviceGet(&device, 0));
    GPU(cuDevicePrimaryCtxRetain(&g->context, device));
    GPU(cuCtxSetCurrent(g->context));
    GPU(cuModuleLoadData(&module, gpu_ptx));
    GPU(cuModuleGetFunction(&g->null8, module, "null8"));
    GPU(cuModuleGetFunction(&g->turns, module, "turns"));
}
