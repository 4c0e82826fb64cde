// SPDX-License-Identifier: Apache-2.0
// Inline assembly: blocks with registers and labels of their own, repeated by inlining.
__device__ __forceinline__ int loop(int n) {
    int r;
    asm volatile(
        "{\n\t.reg .pred p;\n\t.reg .b32 t; mov.b32 t, %1;\n"
        "AGAIN: sub.s32 t, t, 1; setp.gt.s32 p, t, 0;\n\t@p bra AGAIN;\n\tmov.b32 %0, t;\n}"
        : "=r"(r)
        : "r"(n));
    return r;
}

__global__ void assembly(int *out, unsigned long long *time) {
    unsigned lane, order;
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    asm volatile("{ .reg .b32 x; .reg .b32 y; add.cc.u32 x, %1, -1; addc.u32 y, 0, 0; lop3.b32 %0, "
                 "x, y, %1, "
                 "0x96; }"
                 : "=r"(order)
                 : "r"(lane));
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(*time));
    asm volatile("red.relaxed.gpu.global.add.s32 [%0], %1;" ::"l"(out), "r"(order) : "memory");
    out[1] = loop(lane) + loop(order);
    asm volatile("membar.gl; bar.warp.sync 0xffffffff;");
}
