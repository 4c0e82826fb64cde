# SPDX-License-Identifier: Apache-2.0
"""CuPy: from element-wise operations to the libraries."""
import cupy
import cupyx
import numpy
from cupyx import jit

from case import case, close, equal, holds, main

rng = numpy.random.default_rng(7)


def numbers(*shape, dtype="float32"):
    """Returns the same numbers on the CPU and the GPU."""
    a = rng.standard_normal(shape).astype(dtype)
    return a, cupy.asarray(a)


@case
def elementwise():
    """arithmetic, functions, broadcasts, indexing"""
    a, x = numbers(300, 7)
    b, y = numbers(7)
    close(cupy.asnumpy(cupy.exp(-x * x) + cupy.sin(x) / (1 + abs(y))),
          numpy.exp(-a * a) + numpy.sin(a) / (1 + abs(b)))
    close(cupy.asnumpy(cupy.where(x > 0, x, y)), numpy.where(a > 0, a, b))
    equal(cupy.asnumpy(x[::3, 2:5].T), a[::3, 2:5].T)
    i = cupy.arange(1000, dtype="int64")
    equal(cupy.asnumpy((i * 7919) % 1009 ^ (i << 3)), (numpy.arange(1000) * 7919) % 1009 ^ (numpy.arange(1000) << 3))


@case
def elementwise_types():
    """float64, float16, complex, integers of all widths, booleans"""
    for t in ("float64", "float16", "complex64", "complex128"):
        a, x = numbers(257, dtype=t)
        close(cupy.asnumpy(x * x - x / 3), a * a - a / 3, 2e-3 if t == "float16" else 1e-5, t)
    for t in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"):
        a = rng.integers(0, 100, 257).astype(t)
        x = cupy.asarray(a)
        equal(cupy.asnumpy(x * x + (x // 3) - (x % 7)), a * a + (a // 3) - (a % 7), t)
        equal(cupy.asnumpy(x > 50), a > 50, t)


@case
def elementwise_kernel():
    """ElementwiseKernel, ReductionKernel, fuse"""
    a, x = numbers(5000)
    b, y = numbers(5000)
    squared = cupy.ElementwiseKernel("T x, T y", "T z", "z = (x - y) * (x - y)", "squared")
    close(cupy.asnumpy(squared(x, y)), (a - b) ** 2)
    length = cupy.ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "length")
    close(length(x).item(), numpy.sqrt((a.astype("d") ** 2).sum()))

    @cupy.fuse
    def fused(p, q):
        return cupy.tanh(p) * q + 1

    close(cupy.asnumpy(fused(x, y)), numpy.tanh(a) * b + 1)


@case
def reductions():
    """sum, max, argmax, mean, var, any, cumsum, along axes and over all"""
    a, x = numbers(50, 31, 17)
    d = a.astype("d")
    for axis in (None, 0, 1, 2, (0, 2)):
        close(cupy.asnumpy(x.sum(axis)), d.sum(axis), 1e-4, f"sum {axis}")
        equal(cupy.asnumpy(x.max(axis)), a.max(axis), f"max {axis}")
        close(cupy.asnumpy(x.var(axis)), d.var(axis), 1e-4, f"var {axis}")
    equal(cupy.asnumpy(x.argmax(1)), a.argmax(1), "argmax")
    equal(cupy.asnumpy((x > 3).any(0)), (a > 3).any(0), "any")
    close(cupy.asnumpy(cupy.cumsum(x)), d.cumsum(), 1e-4, "cumsum")
    close(cupy.asnumpy(cupy.cumprod(1 + x[0] / 100, axis=0)), (1 + d[0] / 100).cumprod(0), 1e-4)


@case
def statistics():
    """histogram, bincount, percentile, nonzero, unique"""
    i = rng.integers(0, 40, 3000)
    x = cupy.asarray(i)
    equal(cupy.asnumpy(cupy.bincount(x)), numpy.bincount(i))
    equal(cupy.asnumpy(cupy.histogram(x, bins=10)[0]), numpy.histogram(i, bins=10)[0])
    equal(cupy.asnumpy(cupy.unique(x)), numpy.unique(i))
    equal(cupy.asnumpy(cupy.nonzero(x > 20)[0]), numpy.nonzero(i > 20)[0])
    close(cupy.asnumpy(cupy.percentile(x.astype("d"), cupy.asarray([10, 50, 90]))), numpy.percentile(i, [10, 50, 90]))


@case
def raw_kernel():
    """RawKernel with shared memory and a barrier"""
    reverse = cupy.RawKernel(r"""
    extern "C" __global__ void reverse(const float* in, float* out, int n) {
        extern __shared__ float block[];
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        block[threadIdx.x] = i < n ? in[i] : 0;
        __syncthreads();
        if (i < n) out[i] = block[blockDim.x - 1 - threadIdx.x];
    }""", "reverse")
    a, x = numbers(1024)
    y = cupy.empty_like(x)
    reverse((8,), (128,), (x, y, 1024), shared_mem=512)
    equal(cupy.asnumpy(y), a.reshape(8, 128)[:, ::-1].ravel())


@case
def raw_module():
    """RawModule: templates, constants, two kernels"""
    module = cupy.RawModule(code=r"""
    __constant__ float weights[4];
    template <typename T> __global__ void scale(T* x, T by, int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) x[i] *= by;
    }
    extern "C" __global__ void filter(const float* x, float* y, int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i + 3 >= n) return;
        float s = 0;
        for (int k = 0; k < 4; k++) s += weights[k] * x[i + k];
        y[i] = s;
    }""", options=("-std=c++17",), name_expressions=["scale<float>", "scale<double>"])
    a, x = numbers(1000)
    module.get_function("scale<float>")((8,), (128,), (x, numpy.float32(3), 1000))
    close(cupy.asnumpy(x), a * 3)
    w = cupy.ndarray(4, "float32", module.get_global("weights"))
    w[...] = cupy.asarray([1, -2, 3, 0.5], "float32")
    y = cupy.zeros(997, "float32")
    module.get_function("filter")((8,), (128,), (x, y, 1000))
    close(cupy.asnumpy(y), numpy.convolve(a * 3, [0.5, 3, -2, 1], "valid"), 1e-4)


@case
def jit_kernel():
    """cupyx.jit: atomics, shared memory, warps"""
    @jit.rawkernel()
    def total(x, out, n):
        i = jit.blockIdx.x * jit.blockDim.x + jit.threadIdx.x
        v = cupy.float32(0)
        if i < n:
            v = x[i]
        v += jit.shfl_down_sync(0xffffffff, v, 16)
        v += jit.shfl_down_sync(0xffffffff, v, 8)
        v += jit.shfl_down_sync(0xffffffff, v, 4)
        v += jit.shfl_down_sync(0xffffffff, v, 2)
        v += jit.shfl_down_sync(0xffffffff, v, 1)
        if jit.threadIdx.x % 32 == 0:
            jit.atomic_add(out, 0, v)

    a, x = numbers(4000)
    out = cupy.zeros(1, "float32")
    total[(32,), (128,)](x, out, 4000)
    close(out.item(), a.astype("d").sum(), 1e-4)


@case
def sort():
    """sort, argsort, along axes, lexsort, searchsorted"""
    a, x = numbers(3000)
    equal(cupy.asnumpy(cupy.sort(x)), numpy.sort(a))
    equal(cupy.asnumpy(cupy.argsort(x)), numpy.argsort(a))
    b, y = numbers(40, 50)
    equal(cupy.asnumpy(cupy.sort(y, 0)), numpy.sort(b, 0))
    equal(cupy.asnumpy(cupy.searchsorted(cupy.sort(x), y.ravel())), numpy.searchsorted(numpy.sort(a), b.ravel()))
    equal(cupy.asnumpy(cupy.partition(x, 100)[:100].max()), numpy.sort(a)[99])


@case
def matmul():
    """cuBLAS: float32, float64, complex, batches, vectors"""
    for t, tolerance in (("float32", 1e-4), ("float64", 1e-12), ("complex64", 1e-4), ("complex128", 1e-12)):
        a, x = numbers(129, 65, dtype=t)
        b, y = numbers(65, 77, dtype=t)
        close(cupy.asnumpy(x @ y), a @ b, tolerance, t)
        close(cupy.asnumpy(x @ y[:, 0]), a @ b[:, 0], tolerance, t + " vector")
        close(cupy.asnumpy(x.T @ x), a.T @ a, tolerance, t + " transposed")
    a, x = numbers(5, 33, 20)
    b, y = numbers(5, 20, 9)
    close(cupy.asnumpy(x @ y), a @ b, 1e-4, "batch")
    close(cupy.asnumpy(cupy.einsum("bij,bjk->ik", x, y)), numpy.einsum("bij,bjk->ik", a, b), 1e-4, "einsum")


@case
def matmul_half():
    """cuBLAS: float16 matrices"""
    a, x = numbers(128, 64, dtype="float16")
    b, y = numbers(64, 96, dtype="float16")
    close(cupy.asnumpy(x @ y), a.astype("f") @ b.astype("f"), 4e-3)


@case
def fft():
    """cuFFT: powers of two and others, real and complex, one to three dimensions"""
    for n in (64, 100, 243, 1000, 1009):
        a, x = numbers(3, n, dtype="complex64")
        close(cupy.asnumpy(cupy.fft.fft(x)), numpy.fft.fft(a), 1e-4, f"fft {n}")
        close(cupy.asnumpy(cupy.fft.ifft(cupy.fft.fft(x))), a, 1e-5, f"ifft {n}")
    a, x = numbers(16, 24, 20, dtype="float64")
    close(cupy.asnumpy(cupy.fft.rfftn(x)), numpy.fft.rfftn(a), 1e-11, "rfftn")
    close(cupy.asnumpy(cupy.fft.irfftn(cupy.fft.rfftn(x))), a, 1e-12, "irfftn")


@case
def random():
    """cuRAND: the same seed the same numbers; means and variances"""
    def draw(seed):
        cupy.random.seed(seed)
        return cupy.random.random(20000), cupy.random.standard_normal(20000), cupy.random.randint(0, 10, 20000)

    u, n, i = (cupy.asnumpy(v) for v in draw(5))
    again = [cupy.asnumpy(v) for v in draw(5)]
    for got, want in zip(again, (u, n, i)):
        equal(got, want, "the same seed")
    close([u.mean(), u.var(), n.mean(), n.var()], [0.5, 1 / 12, 0, 1], 0.03, "moments")
    close(numpy.bincount(i, minlength=10) / 20000, [0.1] * 10, 0.01, "integers")
    holds(u.min() >= 0 and u.max() < 1 and len(numpy.unique(u)) > 19900, "uniform numbers in [0, 1), no two alike")


@case
def random_generator():
    """the Generator: XORWOW, MRG32k3a, Philox"""
    for make in (cupy.random.XORWOW, cupy.random.MRG32k3a, cupy.random.Philox4x3210):
        g, again = (cupy.random.Generator(make(3)) for _ in range(2))
        u, n = cupy.asnumpy(g.random(10000)), cupy.asnumpy(g.standard_normal(10000))
        equal(cupy.asnumpy(again.random(10000)), u, "the same seed")
        close([u.mean(), u.var(), n.mean(), n.var()], [0.5, 1 / 12, 0, 1], 0.04, make.__name__)


@case
def solve():
    """cuSOLVER: solve, inv, det, cholesky, QR"""
    a, x = numbers(40, 40, dtype="float64")
    b, y = numbers(40, 3, dtype="float64")
    close(cupy.asnumpy(cupy.linalg.solve(x, y)), numpy.linalg.solve(a, b), 1e-9, "solve")
    close(cupy.asnumpy(cupy.linalg.inv(x)), numpy.linalg.inv(a), 1e-9, "inv")
    close(cupy.asnumpy(cupy.linalg.det(x)) / numpy.linalg.det(a), 1, 1e-9, "det")
    spd = a @ a.T + 40 * numpy.eye(40)
    close(cupy.asnumpy(cupy.linalg.cholesky(cupy.asarray(spd))), numpy.linalg.cholesky(spd), 1e-9, "cholesky")
    q, r = (cupy.asnumpy(m) for m in cupy.linalg.qr(x))
    close(q @ r, a, 1e-9, "QR")
    close(q.T @ q, numpy.eye(40), 1e-9, "Q")


@case
def svd():
    """cuSOLVER: SVD, eigh, least squares, pinv"""
    a, x = numbers(40, 25)
    u, s, v = (cupy.asnumpy(m) for m in cupy.linalg.svd(x, full_matrices=False))
    close(s, numpy.linalg.svd(a)[1], 1e-4, "singular values")
    close((u * s) @ v, a, 1e-4, "U S V")
    h = a.T @ a
    w, z = (cupy.asnumpy(m) for m in cupy.linalg.eigh(cupy.asarray(h)))
    close(w, numpy.linalg.eigvalsh(h), 1e-3, "eigenvalues")
    close(h @ z, z * w, 1e-3, "eigenvectors")
    close(cupy.asnumpy(cupy.linalg.pinv(x)), numpy.linalg.pinv(a), 1e-3, "pinv")


@case
def sparse():
    """cuSPARSE: CSR times dense, CSR times CSR"""
    a = rng.standard_normal((60, 50)) * (rng.random((60, 50)) < 0.1)
    b = rng.standard_normal((50, 8))
    m = cupyx.scipy.sparse.csr_matrix(cupy.asarray(a))
    close(cupy.asnumpy(m @ cupy.asarray(b)), a @ b, 1e-12, "times dense")
    close(cupy.asnumpy((m.T @ m).toarray()), a.T @ a, 1e-12, "times sparse")


@case
def streams():
    """streams, events, pinned and asynchronous copies"""
    a, _ = numbers(100000)
    pinned = cupyx.empty_pinned(100000, "float32")
    pinned[...] = a
    first, second = cupy.cuda.Stream(non_blocking=True), cupy.cuda.Stream(non_blocking=True)
    with first:
        x = cupy.empty(100000, "float32")
        x.set(pinned)
        x *= 2
        done = first.record()
    second.wait_event(done)
    with second:
        y = x + 1
        out = cupyx.empty_pinned(100000, "float32")
        y.get(out=out, blocking=False)
    second.synchronize()
    equal(out, a * numpy.float32(2) + numpy.float32(1))


@case
def pools():
    """the memory pool, cudaMallocAsync, managed memory"""
    for allocator in (cupy.cuda.MemoryPool().malloc, cupy.cuda.MemoryAsyncPool().malloc,
                      cupy.cuda.MemoryPool(cupy.cuda.malloc_managed).malloc):
        with cupy.cuda.using_allocator(allocator):
            for size in (10, 1000, 100000, 10, 1000000):
                x = cupy.arange(size, dtype="float64")
                close(float(x.sum()), size * (size - 1) / 2, 1e-12)


@case
def graph():
    """a captured stream, launched again and again"""
    a, x = numbers(1000)
    y = x * 2 + 1  # compiled before the capture
    s = cupy.cuda.Stream(non_blocking=True)
    with s:
        s.begin_capture()
        cupy.multiply(x, 2, out=y)
        cupy.add(y, 1, out=x)
        g = s.end_capture()
        for _ in range(3):
            g.launch()
    s.synchronize()
    want = a
    for _ in range(3):
        want = want * numpy.float32(2) + numpy.float32(1)
    close(cupy.asnumpy(x), want)


@case
def texture():
    """a texture object with linear filtering"""
    a = rng.random((8, 16)).astype("float32")
    fetch = cupy.RawKernel(r"""
    extern "C" __global__ void fetch(cudaTextureObject_t t, float* out) {
        int x = threadIdx.x, y = threadIdx.y;
        out[y * 16 + x] = tex2D<float>(t, x + 0.5f, y + 0.5f) + tex2D<float>(t, x + 1.0f, y + 0.5f);
    }""", "fetch")
    rt = cupy.cuda.runtime
    form = cupy.cuda.texture.ChannelFormatDescriptor(32, 0, 0, 0, rt.cudaChannelFormatKindFloat)
    array = cupy.cuda.texture.CUDAarray(form, 16, 8)
    array.copy_from(cupy.asarray(a))
    clamp = (rt.cudaAddressModeClamp, rt.cudaAddressModeClamp)
    how = cupy.cuda.texture.TextureDescriptor(clamp, rt.cudaFilterModeLinear, rt.cudaReadModeElementType)
    what = cupy.cuda.texture.ResourceDescriptor(rt.cudaResourceTypeArray, cuArr=array)
    out = cupy.empty((8, 16), "float32")
    fetch((1,), (16, 8), (cupy.cuda.texture.TextureObject(what, how), out))
    right = numpy.concatenate([a[:, 1:], a[:, -1:]], 1)
    close(cupy.asnumpy(out), a + (a + right) / 2, 1e-2)


@case
def signal():
    """cupyx.scipy: convolution, interpolation, special functions"""
    from cupyx.scipy import ndimage, signal as sp, special
    a, x = numbers(30, 40, dtype="float64")
    b, y = numbers(5, 5, dtype="float64")
    want = sum(b[4 - i, 4 - j] * a[i:i + 26, j:j + 36] for i in range(5) for j in range(5))
    close(cupy.asnumpy(sp.convolve2d(x, y, "valid")), want, 1e-12, "convolve2d")
    blurred = cupy.asnumpy(ndimage.uniform_filter(x, 3))[1:-1, 1:-1]
    close(blurred, sum(a[i:i + 28, j:j + 38] for i in range(3) for j in range(3)) / 9, 1e-12, "uniform_filter")
    import math
    close(cupy.asnumpy(special.erf(x)), [[math.erf(v) for v in row] for row in a], 1e-12, "erf")
    close(cupy.asnumpy(special.gamma(abs(x) + 1)), [[math.gamma(abs(v) + 1) for v in row] for row in a], 1e-11, "gamma")


if __name__ == "__main__":
    main()
