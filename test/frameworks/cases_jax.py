# SPDX-License-Identifier: Apache-2.0
"""JAX: jit, grad, vmap, control flow, random numbers, linear algebra, training."""
import jax
import jax.numpy as jnp
import numpy

from case import case, close, equal, holds, main

holds(jax.devices()[0].platform == "gpu", f"a GPU is found: {jax.devices()}")
rng = numpy.random.default_rng(23)
cpu = jax.devices("cpu")[0]


def numbers(*shape, dtype="float32"):
    return rng.standard_normal(shape).astype(dtype)


def both(f, *arguments, tolerance=1e-5, what="values"):
    """Compares a jitted function's results on the GPU and on the CPU."""
    got = jax.jit(f)(*arguments)
    with jax.default_device(cpu):
        want = jax.jit(f)(*arguments)
    for g, w in zip(jax.tree.leaves(got), jax.tree.leaves(want)):
        close(numpy.asarray(g, "float64" if g.dtype != bool else bool), numpy.asarray(w, "float64"), tolerance, what)


@case
def jit():
    """fused arithmetic, masks, types, indexing"""
    a, b = numbers(50, 70), numbers(70)
    both(lambda x, y: jnp.tanh(jnp.where(x > y, jnp.sin(x) * y, jax.nn.sigmoid(x - y))) + 1, a, b)
    both(lambda x: (x * 10).astype("int32") // 3 % 7, a, tolerance=0)
    both(lambda x: (x.astype("float16") * 2).astype("float32"), a, tolerance=2e-3)
    both(lambda x: x[3:20:2, ::-1].T, a, tolerance=0)
    both(lambda x: jax.scipy.special.erf(x) + jax.nn.gelu(x), a)


@case
def eager():
    """without jit, operation by operation"""
    a = numbers(30, 40)
    x = jnp.asarray(a)
    close(numpy.asarray(jnp.exp(-x * x).sum(0)), numpy.exp(-a * a).sum(0), 1e-5)


@case
def grad():
    """gradients, second derivatives, Jacobians"""
    f = lambda x: jnp.sum(jnp.sin(x) ** 3 / (1 + x * x))
    a = numbers(40)
    both(jax.grad(f), a)
    both(jax.hessian(f), a, tolerance=1e-4)
    both(jax.jacfwd(lambda x: jnp.cumsum(x) * x), a)


@case
def matmul():
    """float32, float16, bfloat16, batches, vectors"""
    a, b = numbers(65, 129), numbers(129, 70)
    close(numpy.asarray(jnp.matmul(a, b, precision="highest")), a.astype("d") @ b, 1e-4, "float32")
    close(numpy.asarray(jnp.asarray(a) @ b), a.astype("d") @ b, 2e-2, "float32, as fast as it may be")
    for t, tolerance in (("float16", 5e-3), ("bfloat16", 3e-2)):
        x, y = jnp.asarray(a, t), jnp.asarray(b, t)
        want = numpy.asarray(x, "d") @ numpy.asarray(y, "d")
        close(numpy.asarray(x @ y, "d"), want, tolerance, t)
    both(lambda x, y: jnp.einsum("bij,bjk->bik", x, y, precision="highest"), numbers(5, 33, 20), numbers(5, 20, 9), tolerance=1e-4)


@case
def vmap():
    """vmap of a solver step, with reductions"""
    f = lambda m, v: jnp.dot(m, v, precision="highest") / jnp.linalg.norm(v)
    both(jax.vmap(f), numbers(7, 10, 10), numbers(7, 10), tolerance=1e-4)


@case
def control_flow():
    """scan, while_loop, cond, fori_loop"""
    both(lambda x: jax.lax.scan(lambda c, v: (c * 0.9 + v, c), jnp.zeros(5), x), numbers(30, 5))
    both(lambda x: jax.lax.while_loop(lambda s: s[1] < 10, lambda s: (s[0] * 1.1, s[1] + 1), (x, 0))[0], numbers(20))
    both(lambda x: jax.lax.cond(x.sum() > 0, jnp.sin, jnp.cos, x), numbers(20))
    both(lambda x: jax.lax.fori_loop(0, 5, lambda i, v: v + i * jnp.roll(v, 1), x), numbers(20), tolerance=1e-4)


@case
def reductions():
    """sums, maxima, argmax, softmax, cumsum, sort, top_k, segments"""
    a = numbers(40, 300)
    both(lambda x: (x.sum(0), x.max(1), x.var(1), jnp.argmax(x, 1), jax.nn.softmax(x)), a, tolerance=1e-4)
    both(lambda x: (jnp.cumsum(x, 1), jnp.sort(x, 1), jnp.argsort(x, 0), jax.lax.top_k(x, 5)[0]), a, tolerance=1e-4)
    segments = rng.integers(0, 9, 40)
    both(lambda x: jax.ops.segment_sum(x, segments, 9), a, tolerance=1e-4)


@case
def random():
    """threefry: the same numbers as on the CPU"""
    key = jax.random.key(5)
    both(lambda k: jax.random.uniform(k, (2000,)), key, tolerance=1e-6)
    both(lambda k: jax.random.normal(k, (2000,)), key, tolerance=1e-5)
    both(lambda k: jax.random.permutation(k, 500), key, tolerance=0)


@case
def convolution():
    """cuDNN: convolutions of two dimensions, their gradients"""
    x, k = numbers(2, 12, 12, 4), numbers(3, 3, 4, 8)
    f = lambda x, k: jax.lax.conv_general_dilated(x, k, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"), precision="highest")
    both(f, x, k, tolerance=1e-4)
    both(jax.grad(lambda x, k: (f(x, k) ** 2).sum(), (0, 1)), x, k, tolerance=1e-3)


@case
def fft():
    """cuFFT"""
    both(lambda x: jnp.abs(jnp.fft.fft(x)), numbers(3, 100), tolerance=1e-4)
    both(lambda x: jnp.fft.irfft2(jnp.fft.rfft2(x)), numbers(16, 20), tolerance=1e-5)


@case
def linear_algebra():
    """cuSOLVER: solve, cholesky, QR, SVD, eigh"""
    a = numbers(20, 20)
    s = a @ a.T + 20 * numpy.eye(20, dtype="f")
    both(jnp.linalg.solve, s, numbers(20, 3), tolerance=1e-4)
    both(jnp.linalg.cholesky, s, tolerance=1e-4)
    both(lambda x: jnp.abs(jnp.linalg.qr(x)[1]), a, tolerance=1e-3)
    both(lambda x: jnp.linalg.svd(x, compute_uv=False), a, tolerance=1e-4)
    both(lambda x: jnp.linalg.eigh(x)[0], s, tolerance=1e-3)


def loss(weights, x, y):
    for w, b in weights[:-1]:
        x = jnp.tanh(jnp.dot(x, w, precision="highest") + b)
    w, b = weights[-1]
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(jnp.dot(x, w, precision="highest") + b), y[:, None], 1))


@jax.jit
def step(weights, x, y):
    value, gradient = jax.value_and_grad(loss)(weights, x, y)
    return jax.tree.map(lambda w, g: w - 0.2 * g, weights, gradient), value


def train(device, data, weights):
    with jax.default_device(device):
        losses = []
        for i in range(50):
            weights, value = step(weights, *data[i % 4])
            losses.append(float(value))
    return losses


@case
def train_mlp():
    """a perceptron, 50 steps"""
    sizes = [(20, 64), (64, 64), (64, 5)]
    weights = [(numbers(*s) / s[0] ** 0.5, numpy.zeros(s[1], "f")) for s in sizes]
    data = [(numbers(16, 20), rng.integers(0, 5, 16)) for _ in range(4)]
    got, want = train(jax.devices()[0], data, weights), train(cpu, data, weights)
    close(got, want, 1e-4, "losses")
    holds(want[-1] < want[0] / 2, f"it learns: {want[0]} to {want[-1]}")


@case(env={"XLA_PYTHON_CLIENT_ALLOCATOR": "cuda_async"})
def train_async_allocator():
    """the perceptron with memory of cudaMallocAsync"""
    train_mlp()


@case(env={"XLA_PYTHON_CLIENT_ALLOCATOR": "platform"})
def train_platform_allocator():
    """the perceptron with driver memory, allocated for each array"""
    train_mlp()


@case
def types():
    """float64, integers of 8 to 64 bits, fp8, complex"""
    with jax.enable_x64(True):
        a, b = numbers(40, 30, dtype="d"), numbers(30, 20, dtype="d")
        both(lambda x, y: jnp.exp(x @ y / 9), a, b, tolerance=1e-12)
        both(lambda x: (x * 1000).astype("int64") * 10**10 // 7, a, tolerance=0)
        both(lambda x: jnp.linalg.eigvalsh(x @ x.T), a, tolerance=1e-10)
    for shape in (32, 64), (17, 20), (64, 16):
        i = rng.integers(-128, 128, shape, "int8")
        both(lambda x: jax.lax.dot(x, x.T, preferred_element_type="int32"), i, tolerance=0)
    both(lambda x: jax.lax.population_count(x) + jax.lax.clz(x), i, tolerance=0)
    for t in "float8_e4m3fn", "float8_e5m2", "bfloat16":
        both(lambda x: jax.lax.bitcast_convert_type(x.astype(t), "uint16" if t == "bfloat16" else "uint8"), numbers(500), tolerance=0)
    both(lambda x: jnp.abs((x + 1j * x[::-1]) ** 3), numbers(100), tolerance=1e-4)


@case
def windows():
    """pooling, scatters, gathers, sorts by several keys, histograms"""
    a = numbers(4, 16, 16, 3)
    pool = lambda x, op, z: jax.lax.reduce_window(x, z, op, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    both(lambda x: (pool(x, jax.lax.max, -jnp.inf), pool(x, jax.lax.add, 0.0)), a)
    both(jax.grad(lambda x: (pool(x, jax.lax.max, -jnp.inf) ** 2).sum()), a, tolerance=1e-5)
    v, where = numbers(200), rng.integers(0, 50, 200)
    both(lambda x: jnp.zeros(50).at[where].add(x), v, tolerance=1e-5)
    both(lambda x: (x[where], jnp.zeros(50).at[where].max(x)), v, tolerance=0)
    both(lambda x: jax.lax.sort((jnp.asarray(where), x), num_keys=2), v, tolerance=0)
    both(lambda x: jnp.histogram(x, 20)[0], v, tolerance=0)


@case
def callbacks():
    """functions of the host within jitted ones; memory of the host"""
    twice = lambda x: jax.pure_callback(lambda v: numpy.asarray(v) * 2, jax.ShapeDtypeStruct(x.shape, x.dtype), x)
    both(lambda x: jnp.sin(twice(x) + 1), numbers(30))
    x = jax.device_put(numbers(1000), jax.sharding.SingleDeviceSharding(jax.devices()[0], memory_kind="pinned_host"))
    back = jax.device_put(x, jax.sharding.SingleDeviceSharding(jax.devices()[0], memory_kind="device"))
    close(numpy.asarray(back * 2), numpy.asarray(x) * 2, 0)


def attend(p, x):
    """Defines one block of a transformer."""
    q, k, v = (jnp.einsum("btd,dhe->bthe", x, w, precision="highest") for w in p["qkv"])
    x = x + jax.nn.dot_product_attention(q, k, v, is_causal=True).reshape(x.shape)
    m, s = x.mean(-1, keepdims=True), x.std(-1, keepdims=True)
    h = jax.nn.gelu(jnp.dot((x - m) / (s + 1e-3), p["up"], precision="highest"))
    return x + jnp.dot(h, p["down"], precision="highest")


@case
def train_transformer():
    """one block with attention, Adam, 50 steps"""
    d, heads = 32, 4
    p = {"qkv": [numbers(d, heads, d // heads) / d ** 0.5 for _ in range(3)], "up": numbers(d, 64) / d ** 0.5,
         "down": numbers(64, d) / 8}
    x, y = numbers(4, 16, d), numbers(4, 16, d)

    @jax.jit
    def step(p, m, v, i):
        with jax.default_matmul_precision("highest"):
            value, g = jax.value_and_grad(lambda p: ((attend(p, x) - y) ** 2).mean())(p)
        m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, g)
        v = jax.tree.map(lambda v, g: 0.99 * v + 0.01 * g * g, v, g)
        new = lambda w, m, v: w - 1e-2 * m / (1 - 0.9 ** i) / (jnp.sqrt(v / (1 - 0.99 ** i)) + 1e-6)
        return jax.tree.map(new, p, m, v), m, v, value

    def losses(device):
        with jax.default_device(device):
            zero = jax.tree.map(numpy.zeros_like, p)
            state, out = (p, zero, zero), []
            for i in range(1, 51):
                *state, value = step(*state, float(i))
                out.append(float(value))
        return out

    got, want = losses(jax.devices()[0]), losses(cpu)
    close(got, want, 1e-3, "losses")
    holds(want[-1] < want[0] / 2, f"it learns: {want[0]} to {want[-1]}")


@case
def train_cnn():
    """convolutions and pooling, 50 steps"""
    p = [numbers(3, 3, 1, 8) / 3, numbers(3, 3, 8, 8) / 8, numbers(128, 5) / 11]
    x, y = numbers(16, 8, 8, 1), rng.integers(0, 5, 16)

    def f(p):
        h = x
        for k in p[:2]:
            h = jax.nn.relu(jax.lax.conv_general_dilated(h, k, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"),
                                                         precision="highest"))
        h = jax.lax.reduce_window(h, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID").reshape(16, -1)
        logits = jax.nn.log_softmax(jnp.dot(h, p[2], precision="highest"))
        return -jnp.take_along_axis(logits, y[:, None], 1).mean()

    step = jax.jit(lambda p: (lambda v, g: (v, [w - 0.1 * d for w, d in zip(p, g)]))(*jax.value_and_grad(f)(p)))

    def losses(device, p):
        with jax.default_device(device):
            out = []
            for _ in range(50):
                value, p = step(p)
                out.append(float(value))
        return out

    got, want = losses(jax.devices()[0], p), losses(cpu, p)
    close(got, want, 1e-4, "losses")
    holds(want[-1] < want[0] / 2, f"it learns: {want[0]} to {want[-1]}")


@case
def pallas():
    """a kernel of Pallas, by Triton"""
    from jax.experimental import pallas as pl
    from jax.experimental.pallas import triton

    def add(x, y, out):
        out[...] = x[...] + 2 * y[...]

    a, b = numbers(256), numbers(256)
    f = pl.pallas_call(add, out_shape=jax.ShapeDtypeStruct((256,), "float32"), grid=(2,),
                       compiler_params=triton.CompilerParams(),
                       in_specs=[pl.BlockSpec((128,), lambda i: (i,))] * 2, out_specs=pl.BlockSpec((128,), lambda i: (i,)))
    close(numpy.asarray(f(a, b)), a + 2 * b, 1e-6)


if __name__ == "__main__":
    main()
