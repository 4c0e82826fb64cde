#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A job that compares its results round after round; it needs no CUDA compiler.

    verifier.py LIBCUDA [--rounds N] [--pinned MIB] [--device MIB] [--uid UID]

A round copies new numbers in, lets a kernel add to them, copies them out and compares. Prints
"round N" after each, until its input ends or N rounds are done. For a number of MiB on its input,
it allocates that device memory between two rounds, and answers as below. With --pinned or --device
it first allocates that much pinned or device memory, and prints "pinned 0" or "device 0", or the
CUDA error. Exit status 1, with a line on standard error: an error of CUDA; 2: a wrong result.
"""
import argparse
import array
import ctypes
import os
import select
import sys

PTX = b"""
.version 7.0
.target sm_70
.address_size 64
.visible .entry add(.param .u64 data, .param .u32 number)
{
    .reg .u32 %r<6>;
    .reg .u64 %d<3>;
    ld.param.u64 %d1, [data];
    ld.param.u32 %r5, [number];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.u32 %r4, %r1, %r2, %r3;
    mul.wide.u32 %d2, %r4, 4;
    add.u64 %d2, %d2, %d1;
    ld.global.u32 %r1, [%d2];
    add.u32 %r1, %r1, %r5;
    st.global.u32 [%d2], %r1;
    ret;
}
"""
COUNT = 64 * 128


def main():
    p = argparse.ArgumentParser()
    p.add_argument("libcuda")
    p.add_argument("--rounds", type=int, default=0)
    p.add_argument("--pinned", type=int, default=0)
    p.add_argument("--device", type=int, default=0)
    p.add_argument("--uid", type=int, default=0, help="user of the job, once everything is loaded (default: 0, the caller)")
    o = p.parse_args()
    cuda = ctypes.CDLL(o.libcuda)
    if o.uid:
        os.setgroups([])
        os.setgid(o.uid)
        os.setuid(o.uid)

    def call(name, *args):
        rc = getattr(cuda, name)(*args)
        if rc:
            sys.exit(f"verifier: {name}: CUDA error {rc}")

    def take(what, name, mib):
        """Allocates memory and touches all of it; never freed."""
        at = ctypes.c_void_p()
        rc = getattr(cuda, name)(ctypes.byref(at), ctypes.c_size_t(mib << 20))
        if rc == 0 and what == "pinned":
            ctypes.memset(at, 1, mib << 20)
        print(what, rc, flush=True)

    device, context = ctypes.c_int(), ctypes.c_void_p()
    module, add, data = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_uint64()
    call("cuInit", 0)
    call("cuDeviceGet", ctypes.byref(device), 0)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    call("cuCtxSetCurrent", context)
    if o.pinned:
        take("pinned", "cuMemAllocHost_v2", o.pinned)
    if o.device:
        take("device", "cuMemAlloc_v2", o.device)
    call("cuModuleLoadData", ctypes.byref(module), PTX)
    call("cuModuleGetFunction", ctypes.byref(add), module, b"add")
    call("cuMemAlloc_v2", ctypes.byref(data), ctypes.c_size_t(4 * COUNT))
    n = 0
    while not (o.rounds and n == o.rounds):
        if select.select([sys.stdin], [], [], 0)[0]:
            line = sys.stdin.readline()
            if not line:
                break
            take("device", "cuMemAlloc_v2", int(line))
        n += 1
        there = array.array("I", range(n, n + COUNT))
        back = (ctypes.c_uint32 * COUNT)()
        call("cuMemcpyHtoD_v2", data, (ctypes.c_char * (4 * COUNT)).from_buffer(there),
             ctypes.c_size_t(4 * COUNT))
        number = ctypes.c_uint32(n)
        arguments = (ctypes.c_void_p * 2)(ctypes.addressof(data), ctypes.addressof(number))
        call("cuLaunchKernel", add, 64, 1, 1, 128, 1, 1, 0, None, arguments, None)
        call("cuMemcpyDtoH_v2", back, data, ctypes.c_size_t(4 * COUNT))
        if list(back) != [v + n for v in there]:
            print(f"verifier: round {n}: wrong", file=sys.stderr)
            return 2
        print("round", n, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
