# SPDX-License-Identifier: Apache-2.0
"""Numba: its documentation's examples, and the functions that its kernels can call."""
import math
import multiprocessing
import os
import tempfile
import unittest

import numpy
from numba import cuda, float32, float64, guvectorize, int32, uint64, vectorize
from numba.cuda.random import (create_xoroshiro128p_states, xoroshiro128p_normal_float64,
                               xoroshiro128p_uniform_float32)

from case import case, close, equal, holds, main

rng = numpy.random.default_rng(11)


@case
def vector_add():
    """a kernel for any length, arrays copied by hand and by themselves"""
    @cuda.jit
    def add(a, b, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = a[i] + b[i]

    a, b = rng.random(5000), rng.random(5000)
    out = cuda.device_array_like(a)
    add[40, 128](cuda.to_device(a), cuda.to_device(b), out)
    equal(out.copy_to_host(), a + b)
    host = numpy.zeros(5000)
    add.forall(5000)(a, b, host)
    equal(host, a + b)


@case
def ufuncs():
    """vectorize, guvectorize"""
    @vectorize(["float32(float32, float32)", "float64(float64, float64)"], target="cuda")
    def hypotenuse(x, y):
        return math.sqrt(x * x + y * y)

    @guvectorize(["(float64[:], float64[:], float64[:])"], "(n),(n)->()", target="cuda")
    def dot(x, y, out):
        out[0] = 0.0
        for i in range(x.shape[0]):
            out[0] += x[i] * y[i]

    a, b = rng.random((40, 30)), rng.random((40, 30))
    close(hypotenuse(a, b), numpy.hypot(a, b), 1e-15)
    close(hypotenuse(a.astype("f"), b.astype("f")), numpy.hypot(a, b), 1e-6)
    close(dot(a, b), (a * b).sum(1), 1e-14)


@case
def matmul():
    """tiles in shared memory"""
    @cuda.jit
    def multiply(a, b, c):
        x, y = cuda.shared.array((16, 16), float32), cuda.shared.array((16, 16), float32)
        i, j = cuda.grid(2)
        ti, tj = cuda.threadIdx.x, cuda.threadIdx.y
        s = float32(0)
        for k in range(0, a.shape[1], 16):
            x[ti, tj] = a[i, k + tj] if i < a.shape[0] and k + tj < a.shape[1] else 0
            y[ti, tj] = b[k + ti, j] if k + ti < b.shape[0] and j < b.shape[1] else 0
            cuda.syncthreads()
            for m in range(16):
                s += x[ti, m] * y[m, tj]
            cuda.syncthreads()
        if i < c.shape[0] and j < c.shape[1]:
            c[i, j] = s

    a, b = rng.random((50, 70)).astype("f"), rng.random((70, 33)).astype("f")
    c = numpy.zeros((50, 33), "f")
    multiply[(4, 3), (16, 16)](a, b, c)
    close(c, a.astype("d") @ b, 1e-5)


@case
def dynamic_shared():
    """dynamic shared memory, of two types"""
    @cuda.jit
    def mirror(x, y):
        f = cuda.shared.array(0, float32)[:64]
        g = cuda.shared.array(0, int32)[64:128]
        i = cuda.threadIdx.x
        f[i], g[i] = x[i], y[i]
        cuda.syncthreads()
        x[i], y[i] = f[63 - i], g[63 - i]

    x, y = rng.random(64).astype("f"), rng.integers(0, 1000, 64).astype("i")
    a, b = x.copy(), y.copy()
    mirror[1, 64, 0, 512](a, b)
    equal(a, x[::-1])
    equal(b, y[::-1])


@case
def reduce():
    """cuda.reduce, and a reduction in shared memory"""
    total = cuda.reduce(lambda a, b: a + b)
    largest = cuda.reduce(lambda a, b: a if a > b else b)
    x = rng.random(20000)
    close(total(x), x.sum(), 1e-12)
    equal(largest(x, init=0.0), x.max())

    @cuda.jit
    def by_halves(data):
        i, n = cuda.threadIdx.x, cuda.blockDim.x
        s = cuda.shared.array(256, int32)
        s[i] = data[i]
        cuda.syncthreads()
        step = 1
        while step < n:
            if i % (2 * step) == 0:
                s[i] += s[i + step]
            step *= 2
            cuda.syncthreads()
        if i == 0:
            data[0] = s[0]

    d = cuda.to_device(numpy.arange(256, dtype="i"))
    by_halves[1, 256](d)
    equal(d[0], 255 * 128)


@case
def atomics():
    """add, sub, max, min, and, or, xor, inc, dec, exch, cas; in global and shared memory"""
    @cuda.jit
    def all_of_them(x, f, d, i, bins):
        s = cuda.shared.array(8, int32)
        t = cuda.grid(1)
        if cuda.threadIdx.x < 8:
            s[cuda.threadIdx.x] = 0
        cuda.syncthreads()
        cuda.atomic.add(s, x[t] % 8, 1)
        cuda.syncthreads()
        if cuda.threadIdx.x < 8:
            cuda.atomic.add(bins, cuda.threadIdx.x, s[cuda.threadIdx.x])
        cuda.atomic.add(f, 0, float32(x[t]))
        cuda.atomic.sub(d, 0, float64(x[t]))
        cuda.atomic.max(d, 1, float64(x[t]))
        cuda.atomic.min(d, 2, float64(x[t]))
        cuda.atomic.and_(i, 0, ~(1 << (t % 20)))
        cuda.atomic.or_(i, 1, 1 << (t % 20))
        cuda.atomic.xor(i, 2, x[t])
        cuda.atomic.exch(i, 3, 77)
        cuda.atomic.cas(i, 4, 0, 5)
        cuda.atomic.inc(i, 5, 1000)
        cuda.atomic.dec(i, 6, 2000)

    x = rng.integers(1, 1000, 1024).astype("u4")
    f, d = numpy.zeros(1, "f"), numpy.array([0, 0, 1e9])
    i, bins = numpy.array([0xffffffff, 0, 0, 0, 0, 0, 2000], "u4"), numpy.zeros(8, "i")
    all_of_them[8, 128](x, f, d, i, bins)
    equal(f[0], x.sum())
    equal(d, [-float(x.sum()), x.max(), x.min()])
    equal(i, [0xfff00000, 0xfffff, numpy.bitwise_xor.reduce(x), 77, 5, 23, 2000 - 1024])
    equal(bins, numpy.bincount(x % 8, minlength=8))


@case
def shuffles():
    """shuffles, votes, matches, masks of a warp"""
    @cuda.jit
    def warp(x, out):
        lane = cuda.laneid
        all_lanes = 0xffffffff
        v = x[lane]
        out[0, lane] = cuda.shfl_sync(all_lanes, v, 3)
        out[1, lane] = cuda.shfl_up_sync(all_lanes, v, 2)
        out[2, lane] = cuda.shfl_down_sync(all_lanes, v, 5)
        out[3, lane] = cuda.shfl_xor_sync(all_lanes, v, 9)
        out[4, lane] = cuda.ballot_sync(all_lanes, v % 2 == 0)
        out[5, lane] = cuda.all_sync(all_lanes, v >= 0) + 2 * cuda.any_sync(all_lanes, v == x[7])
        out[6, lane] = cuda.match_any_sync(all_lanes, v % 4)
        out[7, lane] = cuda.activemask()

    x = rng.integers(0, 100, 32)
    out = numpy.zeros((8, 32), "i8")
    warp[1, 32](x, out)
    i = numpy.arange(32)
    equal(out[0], numpy.full(32, x[3]))
    equal(out[1], numpy.where(i < 2, x, x[i - 2]))
    equal(out[2], numpy.where(i > 26, x, x[(i + 5) % 32]))
    equal(out[3], x[i ^ 9])
    equal(out[4] & 0xffffffff, numpy.full(32, sum(1 << k for k in i if x[k] % 2 == 0)))
    equal(out[5], numpy.full(32, 3))
    equal(out[6] & 0xffffffff, [sum(1 << int(k) for k in i if x[k] % 4 == x[j] % 4) for j in i])
    equal(out[7] & 0xffffffff, numpy.full(32, 0xffffffff))


@case
def random():
    """xoroshiro128+: Monte Carlo integration, normal numbers"""
    @cuda.jit
    def inside(states, n, out):
        t, hits = cuda.grid(1), 0
        for _ in range(n):
            x = xoroshiro128p_uniform_float32(states, t)
            y = xoroshiro128p_uniform_float32(states, t)
            hits += x * x + y * y <= 1
        out[t] = hits

    @cuda.jit
    def normal(states, out):
        t = cuda.grid(1)
        out[t] = xoroshiro128p_normal_float64(states, t)

    hits, n = numpy.zeros(512, "i"), numpy.zeros(512 * 8)
    inside[4, 128](create_xoroshiro128p_states(512, seed=1), 200, hits)
    close(4 * hits.sum() / 512 / 200, math.pi, 0.01)
    normal[32, 128](create_xoroshiro128p_states(4096, seed=2), n)
    close([n.mean(), n.var()], [0, 1], 0.05)


@case
def grid_sync():
    """a heat equation in one launch: a grid barrier after each step"""
    @cuda.jit
    def heat(a, b, steps):
        grid = cuda.cg.this_grid()
        i = cuda.grid(1)
        for k in range(steps):
            x, y = (a, b) if k % 2 == 0 else (b, a)
            if 0 < i < x.size - 1:
                y[i] = x[i] + 0.25 * (x[i - 1] - 2 * x[i] + x[i + 1])
            grid.sync()

    a = numpy.zeros(1001)
    a[500] = 1000
    d, e = cuda.to_device(a), cuda.to_device(a)
    heat[8, 128](d, e, 50)
    want = a.copy()
    for _ in range(50):
        want[1:-1] = want[1:-1] + 0.25 * (want[:-2] - 2 * want[1:-1] + want[2:])
    close(d.copy_to_host(), want, 1e-12)


@case
def memory():
    """managed, mapped and pinned arrays, slices, memset by copies"""
    @cuda.jit
    def double(x):
        i = cuda.grid(1)
        if i < x.size:
            x[i] *= 2

    m = cuda.managed_array(1000, "f8")
    m[:] = numpy.arange(1000)
    double[8, 128](m)
    cuda.synchronize()
    equal(m, 2.0 * numpy.arange(1000))
    m = cuda.mapped_array(1000, "f8")
    m[:] = numpy.arange(1000)
    double[8, 128](m)
    cuda.synchronize()
    equal(m, 2.0 * numpy.arange(1000))
    p = cuda.pinned_array(1000, "f8")
    p[:] = rng.random(1000)
    d = cuda.to_device(p)
    double[8, 128](d[100:200])
    want = p.copy()
    want[100:200] *= 2
    equal(d.copy_to_host(), want)
    f = cuda.to_device(numpy.asfortranarray(rng.random((20, 30))))
    equal(f[3:7, ::2].copy_to_host(), f.copy_to_host()[3:7, ::2])


@case
def pinned_host_memory():
    """ordinary memory, registered within a `with` block"""
    x = rng.random(100000)
    with cuda.pinned(x):
        s = cuda.stream()
        d = cuda.to_device(x, stream=s)
        back = d.copy_to_host(stream=s)
        s.synchronize()
    equal(back, x)


@case
def streams():
    """two streams and an event between them, and times"""
    @cuda.jit
    def add(x, v):
        i = cuda.grid(1)
        if i < x.size:
            x[i] += v

    a, b, e, begin = cuda.stream(), cuda.stream(), cuda.event(), cuda.event()
    d = cuda.to_device(numpy.zeros(1000), stream=a)
    begin.record(a)
    add[8, 128, a](d, 1)
    e.record(a)
    e.wait(b)
    add[8, 128, b](d, 2)
    equal(d.copy_to_host(stream=b), numpy.full(1000, 3.0))
    b.synchronize()
    holds(begin.elapsed_time(e) >= 0, "a time")


def _math(x, n, out):
    out[0], out[1], out[2], out[3] = math.sin(x), math.cos(x), math.tan(x), math.asin(x)
    out[4], out[5], out[6], out[7] = math.acos(x), math.atan(x), math.sinh(x), math.cosh(x)
    out[8], out[9], out[10], out[11] = math.tanh(x), math.exp(x), math.log(x), math.log10(x)
    out[12], out[13], out[14], out[15] = math.sqrt(x), math.erf(x), math.erfc(x), math.gamma(x)
    out[16], out[17], out[18], out[19] = math.lgamma(x), math.expm1(x), math.log1p(x), math.pow(x, n)
    out[20], out[21], out[22], out[23] = math.floor(x * 9), math.ceil(x * 9), math.fmod(x, 0.3), math.hypot(x, n)
    out[24], out[25] = math.atan2(x, n), math.copysign(x, -n)


@case
def mathematics():
    """26 functions of float64 and float32"""
    inner = cuda.jit(device=True)(_math)

    @cuda.jit
    def kernel(x, n, out):
        i = cuda.grid(1)
        if i < x.size:
            inner(x[i], n[i], out[i])

    for t, tolerance in (("f8", 2e-15), ("f4", 1e-5)):
        x, n = rng.uniform(0.05, 0.95, 200).astype(t), rng.integers(1, 5, 200).astype(t)
        out, want = numpy.zeros((200, 26), t), numpy.zeros((200, 26))
        for i in range(200):
            _math(float(x[i]), float(n[i]), want[i])
        kernel[2, 128](x, n, out)
        close(out, want, tolerance, t)


@case
def bits():
    """popc, clz, ffs, brev, selp, fma, cbrt, 64-bit and mixed arithmetic"""
    @cuda.jit
    def kernel(x, out):
        i = cuda.grid(1)
        if i < x.size:
            out[i, 0], out[i, 1], out[i, 2] = cuda.popc(x[i]), cuda.clz(x[i]), cuda.ffs(x[i])
            out[i, 3], out[i, 4] = cuda.brev(x[i]), cuda.selp(x[i] % 2 == 0, 5, 9)
            out[i, 5], out[i, 6] = x[i] * x[i] >> uint64(7), x[i] % uint64(1000003)
            out[i, 7] = cuda.cbrt(float64(i)) * 1000
            out[i, 8] = cuda.fma(float64(i), 3.0, 1.0)

    x = rng.integers(1, 1 << 62, 300, dtype="u8")
    out = numpy.zeros((300, 9), "u8")
    kernel[3, 128](x, out)
    want = [[v.bit_count(), 64 - v.bit_length(), (v & -v).bit_length(), int(f"{v:064b}"[::-1], 2),
             5 if v % 2 == 0 else 9, (v * v % 2**64) >> 7, v % 1000003] for v in map(int, x)]
    equal(out[:, :7], want)
    close(out[:, 7].astype("f8"), numpy.floor(numpy.cbrt(numpy.arange(300.0)) * 1000 + 1e-9), 1e-2)
    equal(out[:, 8], [3 * i + 1 for i in range(300)])


@case
def half():
    """float16 arithmetic"""
    @cuda.jit
    def kernel(x, y, out):
        i = cuda.grid(1)
        if i < x.size:
            out[i] = cuda.fp16.hfma(x[i], y[i], x[i]) if x[i] > y[i] else cuda.fp16.hsub(x[i], y[i])

    x, y = rng.standard_normal((2, 500)).astype("f2")
    out = numpy.zeros(500, "f2")
    kernel[4, 128](x, y, out)
    a, b = x.astype("d"), y.astype("d")
    close(out, numpy.where(a > b, a * b + a, a - b).astype("f2"), 1e-3)


@case
def arrays_in_kernels():
    """local and constant arrays, records, tuples, complex numbers, device functions without recursion"""
    table = rng.random(16)
    point = numpy.dtype([("x", "f8"), ("y", "f4"), ("n", "i4")], align=True)

    @cuda.jit
    def kernel(points, z, out):
        i = cuda.grid(1)
        c = cuda.const.array_like(table)
        local = cuda.local.array(4, float64)
        if i < points.size:
            for k in range(4):
                local[k] = c[(i + k) % 16] * points[i].x
            s = 0.0
            for k in range(4):
                s += local[points[i].n - k]
            points[i].y = s
            out[i] = z[i] * z[i] + complex(points[i].x, s)

    p = numpy.zeros(100, point)
    p["x"], p["n"] = rng.random(100), 3
    z = rng.random(100) + 1j * rng.random(100)
    q, out = p.copy(), numpy.zeros(100, "c16")
    kernel[1, 128](q, z, out)
    s = [sum(table[(i + k) % 16] for k in range(4)) * p["x"][i] for i in range(100)]
    close(q["y"], s, 1e-6)
    close(out, z * z + p["x"] + 1j * numpy.array(s), 1e-14)


@case
def game_of_life():
    """one function for the CPU and the GPU"""
    def alive(grid, i, j):
        n = 0
        for a in range(-1, 2):
            for b in range(-1, 2):
                n += grid[(i + a) % grid.shape[0], (j + b) % grid.shape[1]]
        n -= grid[i, j]
        return 1 if n == 3 or (n == 2 and grid[i, j] == 1) else 0

    inner = cuda.jit(device=True)(alive)

    @cuda.jit
    def step(grid, out):
        i, j = cuda.grid(2)
        if i < grid.shape[0] and j < grid.shape[1]:
            out[i, j] = inner(grid, i, j)

    g = rng.integers(0, 2, (40, 50)).astype("i4")
    d, e = cuda.to_device(g), cuda.to_device(g)
    for _ in range(4):
        step[(3, 4), (16, 16)](d, e)
        d, e = e, d
        g = numpy.array([[alive(g, i, j) for j in range(50)] for i in range(40)])
    equal(d.copy_to_host(), g)


@case
def sessions():
    """dividing clicks into sessions: neighbours, then a grid barrier, then the first click of each"""
    @cuda.jit
    def split(user, time, gap, out):
        grid = cuda.cg.this_grid()
        i = cuda.grid(1)
        begins = i < user.size and (i == 0 or user[i] != user[i - 1] or time[i] - time[i - 1] > gap)
        if begins:
            out[i] = i
        grid.sync()
        if begins:
            k = i + 1
            while k < user.size and out[k] == -1:
                out[k] = i
                k += 1

    user = numpy.sort(rng.integers(0, 9, 200))
    time = numpy.concatenate([numpy.sort(rng.integers(0, 500, (user == u).sum())) for u in range(9)])
    out = numpy.full(200, -1)
    split[2, 128](user, time, 20, out)
    want, first = [], 0
    for i in range(200):
        if i == 0 or user[i] != user[i - 1] or time[i] - time[i - 1] > 20:
            first = i
        want.append(first)
    equal(out, want)


@case
def printing():
    """print and assert in a kernel; no assertion fails"""
    @cuda.jit
    def kernel(x):
        i = cuda.grid(1)
        if i < 2:
            print("thread", i, x[i])
        x[i] += 1

    x = cuda.to_device(numpy.arange(32.0))
    with tempfile.TemporaryFile() as lines:
        own = os.dup(1)
        os.dup2(lines.fileno(), 1)
        try:
            kernel[1, 32](x)
            cuda.synchronize()
        finally:
            os.dup2(own, 1)
        lines.seek(0)
        said = lines.read().decode().splitlines()
    equal(x.copy_to_host(), numpy.arange(32.0) + 1)
    holds(sorted(said) == [f"thread {i} {i:f}" for i in range(2)], f"lines: {said}")


@case
def errors():
    """an exception in a kernel with debug=True is raised on the host"""
    @cuda.jit(debug=True, opt=False)
    def kernel(x):
        if x[0] == 1:
            raise ValueError("as asked")

    kernel[1, 1](numpy.zeros(1))
    try:
        kernel[1, 1](numpy.ones(1))
        raised = ""
    except ValueError as e:
        raised = str(e)
    holds("as asked" in raised, f"ValueError: {raised!r}")


def _child(handle, results):
    with handle as array:
        results.put(array.copy_to_host().tolist())


@case
def ipc():
    """an array that another process opens"""
    spawn = multiprocessing.get_context("spawn")
    x = rng.random(100)
    results, d = spawn.Queue(), cuda.to_device(x)
    p = spawn.Process(target=_child, args=(d.get_ipc_handle(), results))
    p.start()
    got = results.get(timeout=60)
    p.join()
    equal(got, x)


@case
def own_examples():
    """all examples of Numba's documentation, from its package: C functions, captured arrays, heat, sessions"""
    tests = unittest.defaultTestLoader.loadTestsFromName("numba.cuda.tests.doc_examples")
    result = unittest.TextTestRunner(verbosity=2).run(tests)
    holds(result.testsRun >= 15 and not result.skipped, f"{result.testsRun} of 15 ran, skipped: {result.skipped}")
    holds(result.wasSuccessful(), f"{len(result.errors)} errors, {len(result.failures)} failures")


if __name__ == "__main__":
    main()
