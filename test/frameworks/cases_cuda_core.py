# SPDX-License-Identifier: Apache-2.0
"""NVIDIA's Python library cuda.core: programs that compile, link and launch with it, as in its documentation."""
import numpy
from cuda.bindings import driver
from cuda.core import (Device, EventOptions, LaunchConfig, LegacyPinnedMemoryResource, Linker, LinkerOptions, Program,
                       ProgramOptions, launch)

from case import case, close, equal, holds, main

N = 10_000
SAXPY = r"""
template <typename T> __global__ void saxpy(T a, const T *x, const T *y, T *out, size_t n) {
    for (size_t i = threadIdx.x + blockIdx.x * blockDim.x; i < n; i += gridDim.x * blockDim.x)
        out[i] = a * x[i] + y[i];
}
"""
CALLS = 'extern __device__ int f(int); extern "C" __global__ void k(int *out) { out[threadIdx.x] = f(threadIdx.x); }'
CALLED = "__device__ int f(int x) { return x * x + 1; }"


def begin():
    device = Device()
    device.set_current()
    return device, device.create_stream()


def options(**more):
    return ProgramOptions(std="c++17", arch=f"sm_{Device().arch}", **more)


def compiled(source, kind, **more):
    return Program(source, "c++", options(**more)).compile(kind)


def pinned(count, kind):
    """Returns pinned memory for the device, and the host's view of it."""
    buffer = LegacyPinnedMemoryResource().allocate(count * numpy.dtype(kind).itemsize)
    return buffer, numpy.from_dlpack(buffer).view(kind)


def uploaded(device, stream, array):
    buffer = device.memory_resource.allocate(array.nbytes, stream=stream)
    equal(driver.cuMemcpyHtoDAsync(int(buffer.handle), array.ctypes.data, array.nbytes, stream.handle)[0], 0)
    return buffer


def downloaded(stream, buffer, like):
    out = numpy.empty_like(like)
    equal(driver.cuMemcpyDtoHAsync(out.ctypes.data, int(buffer.handle), out.nbytes, stream.handle)[0], 0)
    stream.sync()
    return out


def squares(linked, stream):
    out, seen = pinned(64, numpy.int32)
    launch(stream, LaunchConfig(grid=1, block=64), linked.get_kernel("k"), out)
    stream.sync()
    equal(seen, numpy.arange(64) ** 2 + 1)


def run_saxpy(kind, dtype, name):
    device, stream = begin()
    x, y = (numpy.random.default_rng(i).random(N).astype(dtype) for i in (1, 2))
    kernel = Program(SAXPY, "c++", options()).compile(kind, name_expressions=(name,)).get_kernel(name)
    in_x, in_y = uploaded(device, stream, x), uploaded(device, stream, y)
    out = device.memory_resource.allocate(x.nbytes, stream=stream)
    launch(stream, LaunchConfig(grid=32, block=256), kernel, dtype(10), in_x, in_y, out, numpy.uint64(N))
    close(downloaded(stream, out, x), 10 * x + y, 1e-6)


@case
def saxpy():
    """templates compiled to machine code, float32"""
    run_saxpy("cubin", numpy.float32, "saxpy<float>")


@case
def saxpy_ptx():
    """templates compiled to PTX, float64"""
    run_saxpy("ptx", numpy.float64, "saxpy<double>")


@case
def link():
    """two programs linked by nvJitLink"""
    _, stream = begin()
    parts = [compiled(s, "ptx", relocatable_device_code=True) for s in (CALLS, CALLED)]
    squares(Linker(*parts, options=LinkerOptions(arch=f"sm_{Device().arch}")).link("cubin"), stream)


@case
def link_time_optimization():
    """two programs' LTO-IR linked to machine code and to PTX, and with PTX"""
    _, stream = begin()
    calls, called = (compiled(s, "ltoir", link_time_optimization=True) for s in (CALLS, CALLED))
    arch = f"sm_{Device().arch}"
    for kind, more in (("cubin", {}), ("ptx", {"ptx": True})):
        made = LinkerOptions(arch=arch, link_time_optimization=True, **more)
        squares(Linker(calls, called, options=made).link(kind), stream)
    in_ptx = compiled(CALLED, "ptx", relocatable_device_code=True)
    mixed = LinkerOptions(arch=arch, link_time_optimization=True)
    squares(Linker(calls, in_ptx, options=mixed).link("cubin"), stream)


@case
def graph():
    """a captured graph, launched twice"""
    device, stream = begin()
    count = compiled('extern "C" __global__ void k(int *n) { atomicAdd(n, 1); }', "cubin").get_kernel("k")
    out, seen = pinned(1, numpy.int32)
    seen[:] = 0
    builder = device.create_graph_builder()
    builder.begin_building()
    launch(builder, LaunchConfig(grid=2, block=32), count, out)
    launch(builder, LaunchConfig(grid=1, block=8), count, out)
    built = builder.end_building().complete()
    built.upload(stream)
    built.launch(stream)
    built.launch(stream)
    stream.sync()
    equal(seen, [2 * (64 + 8)])


@case
def events():
    """one stream waits for another, and the time between two events"""
    device, first = begin()
    second = device.create_stream()
    step = compiled('extern "C" __global__ void k(int *n, int a) { *n = *n * 10 + a; }', "cubin").get_kernel("k")
    out, seen = pinned(1, numpy.int32)
    seen[:] = 0
    start, end = (device.create_event(options=EventOptions(timing_enabled=True)) for _ in range(2))
    first.record(start)
    for stream, digit in ((first, 1), (second, 2), (first, 3)):
        stream.wait(first if stream is second else second)
        launch(stream, LaunchConfig(grid=1, block=1), step, out, numpy.int32(digit))
    first.record(end)
    end.sync()
    equal(seen, [123])
    holds(end - start >= 0, "time does not go back")


@case
def system():
    """the device as the system sees it: NVML"""
    device, _ = begin()
    seen = device.to_system_device()
    holds(seen.name == device.name, seen.name)


if __name__ == "__main__":
    main()
