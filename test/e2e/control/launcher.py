#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A job without a CUDA compiler: launches kernels of its own through the driver API.

    launcher.py LIBCUDA LAUNCHES [--stay] [--spin]

`mix` counts in registers, `copy` moves 16 MiB. With --stay, the program prints "launched" and waits
for the end of its input. With --spin, it does the same while a kernel on the device never ends.
"""
import ctypes
import sys

PTX = b"""
.version 7.0
.target sm_70
.address_size 64
.visible .entry mix(.param .u32 rounds)
{
    .reg .pred %p;
    .reg .u32 %r<4>;
    ld.param.u32 %r1, [rounds];
    mov.u32 %r2, 0;
    mov.u32 %r3, 7;
again:
    mad.lo.u32 %r3, %r3, %r3, %r2;
    add.u32 %r2, %r2, 1;
    setp.lt.u32 %p, %r2, %r1;
    @%p bra again;
    ret;
}
.visible .entry copy(.param .u64 data)
{
    .reg .u32 %r<5>;
    .reg .u64 %d<3>;
    .reg .f32 %f;
    ld.param.u64 %d1, [data];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.u32 %r4, %r1, %r2, %r3;
    mul.wide.u32 %d2, %r4, 4;
    add.u64 %d2, %d2, %d1;
    ld.global.f32 %f, [%d2];
    st.global.f32 [%d2], %f;
    ret;
}
"""
SPIN = b"""
.version 7.0
.target sm_70
.address_size 64
.visible .entry _Z4spinj(.param .u32 unused)
{
again:
    bra again;
}
"""
BYTES = 16 << 20


def main():
    cuda, launches = ctypes.CDLL(sys.argv[1]), int(sys.argv[2])

    def call(name, *args):
        rc = getattr(cuda, name)(*args)
        if rc:
            sys.exit(f"launcher: {name}: CUDA error {rc}")

    def launch(function, grid, argument):
        params = (ctypes.c_void_p * 1)(ctypes.cast(ctypes.byref(argument), ctypes.c_void_p))
        call("cuLaunchKernel", function, grid, 1, 1, 128, 1, 1, 0, None, params, None)

    device, context, module = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p()
    mix, copy, data = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_uint64()
    call("cuInit", 0)
    call("cuDeviceGet", ctypes.byref(device), 0)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    call("cuCtxSetCurrent", context)
    call("cuModuleLoadData", ctypes.byref(module), PTX)
    call("cuModuleGetFunction", ctypes.byref(mix), module, b"mix")
    call("cuModuleGetFunction", ctypes.byref(copy), module, b"copy")
    call("cuMemAlloc_v2", ctypes.byref(data), ctypes.c_size_t(BYTES))
    for _ in range(launches):
        launch(mix, 4, ctypes.c_uint32(20000))
        launch(copy, BYTES // 4 // 128, data)
    call("cuCtxSynchronize")
    if "--spin" in sys.argv[3:]:
        call("cuModuleLoadData", ctypes.byref(module), SPIN)
        call("cuModuleGetFunction", ctypes.byref(mix), module, b"_Z4spinj")
        launch(mix, 1, ctypes.c_uint32(0))
    if "--stay" in sys.argv[3:] or "--spin" in sys.argv[3:]:
        print("launched", flush=True)
        sys.stdin.read()


main()
