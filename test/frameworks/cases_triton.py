# SPDX-License-Identifier: Apache-2.0
"""Triton: the subjects of its first six tutorials, in kernels of our own."""
import torch
import triton
import triton.language as tl

from case import case, close, equal, holds, main

torch.manual_seed(13)


def numbers(*shape, dtype=torch.float32):
    """Returns the same numbers on the CPU and the GPU."""
    a = torch.randn(*shape, dtype=torch.float32).to(dtype)
    return a, a.cuda()


def empty(*shape, dtype=torch.float32):
    """Allocates on the GPU without any of PyTorch's own kernels."""
    return torch.empty(*shape, dtype=dtype, device="cuda")


# ---- 1: vectors ----------------------------------------------------------------------------------

@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    tl.store(out + i, tl.load(x + i, mask=inside) + tl.load(y + i, mask=inside), mask=inside)


@case
def vector_add():
    """a sum with a mask at its end, in three types"""
    for dtype, n in ((torch.float32, 98432), (torch.float16, 1000), (torch.int32, 1)):
        a, x = numbers(n, dtype=dtype)
        b, y = numbers(n, dtype=dtype)
        out = empty(n, dtype=dtype)
        add_kernel[(triton.cdiv(n, 1024),)](x, y, out, n, BLOCK=1024)
        equal(out.cpu(), a + b, str(dtype))


# ---- 2: softmax ----------------------------------------------------------------------------------

@triton.jit
def softmax_kernel(out, x, stride, rows, columns, BLOCK: tl.constexpr, STAGES: tl.constexpr):
    i = tl.arange(0, BLOCK)
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0), num_stages=STAGES):
        v = tl.load(x + row * stride + i, mask=i < columns, other=-float("inf"))
        e = tl.exp(v - tl.max(v, 0))
        tl.store(out + row * stride + i, e / tl.sum(e, 0), mask=i < columns)


@case
def softmax():
    """rows of a matrix, fused; a pipelined loop over them"""
    a, x = numbers(183, 781)
    out = empty(183, 781)
    softmax_kernel[(32,)](out, x, 781, 183, 781, BLOCK=1024, STAGES=4, num_warps=8)
    close(out.cpu(), a.softmax(-1), 1e-6)


# ---- 3: matrices ---------------------------------------------------------------------------------

@triton.jit
def leaky(x):
    return tl.where(x >= 0, x, 0.01 * x)


@triton.jit
def matmul_kernel(a, b, c, M, N, K, sam, sak, sbk, sbn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
                  GROUP: tl.constexpr, LEAKY: tl.constexpr):
    program, rows, columns = tl.program_id(0), tl.cdiv(M, BM), tl.cdiv(N, BN)
    group = program // (GROUP * columns)
    size = min(rows - group * GROUP, GROUP)
    m = group * GROUP + (program % (GROUP * columns)) % size
    n = (program % (GROUP * columns)) // size
    im, jn, k = m * BM + tl.arange(0, BM), n * BN + tl.arange(0, BN), tl.arange(0, BK)
    pa = a + (im % M)[:, None] * sam + k[None, :] * sak
    pb = b + k[:, None] * sbk + (jn % N)[None, :] * sbn
    s = tl.zeros((BM, BN), tl.float32)
    for step in range(0, tl.cdiv(K, BK)):
        u = tl.load(pa, mask=k[None, :] < K - step * BK, other=0.0)
        v = tl.load(pb, mask=k[:, None] < K - step * BK, other=0.0)
        s = tl.dot(u, v, s)
        pa += BK * sak
        pb += BK * sbk
    if LEAKY:
        s = leaky(s)
    inside = (im[:, None] < M) & (jn[None, :] < N)
    tl.store(c + im[:, None] * N + jn[None, :], s.to(c.dtype.element_ty), mask=inside)


def multiply(x, y, out, block=(64, 64, 32), leaky_relu=False, warps=4, stages=3):
    """Computes out = x @ y, in blocks of that size."""
    (m, k), n = x.shape, y.shape[1]
    grid = (triton.cdiv(m, block[0]) * triton.cdiv(n, block[1]),)
    matmul_kernel[grid](x, y, out, m, n, k, x.stride(0), x.stride(1), y.stride(0), y.stride(1), BM=block[0],
                        BN=block[1], BK=block[2], GROUP=8, LEAKY=leaky_relu, num_warps=warps, num_stages=stages)
    return out


@case
def matmul():
    """float16 with tl.dot: blocks of several sizes, warps and stages, edges, leaky ReLU"""
    a, x = numbers(200, 150, dtype=torch.float16)
    b, y = numbers(150, 170, dtype=torch.float16)
    want = a.float() @ b.float()
    for block, warps, stages in (((64, 64, 32), 4, 3), ((128, 128, 32), 8, 3), ((128, 64, 64), 4, 4), ((16, 16, 16), 1, 2)):
        out = multiply(x, y, empty(200, 170, dtype=torch.float16), block, False, warps, stages)
        close(out.cpu(), want.half(), 5e-3, f"blocks of {block}, {warps} warps")
    out = multiply(x, y, empty(200, 170, dtype=torch.float16), leaky_relu=True)
    close(out.cpu(), torch.nn.functional.leaky_relu(want).half(), 5e-3, "leaky ReLU")
    out = multiply(y.T, x.T, empty(170, 200, dtype=torch.float16))
    close(out.cpu(), want.T.half(), 5e-3, "transposed")


def tf32(x):
    """Clears the bits that the tensor cores ignore."""
    return (x.view(torch.int32) & ~0x1fff).view(torch.float32)


@case
def matmul_types():
    """tl.dot of bfloat16 and of float32 as tf32"""
    a, x = numbers(64, 96, dtype=torch.bfloat16)
    b, y = numbers(96, 64, dtype=torch.bfloat16)
    close(multiply(x, y, empty(64, 64)).cpu(), a.float() @ b.float(), 1e-4, "bfloat16")
    a, x = numbers(64, 96)
    b, y = numbers(96, 64)
    close(multiply(x, y, empty(64, 64)).cpu(), tf32(a) @ tf32(b), 1e-5, "tf32")


@case
def matmul_fp8():
    """tl.dot of float8 (e5m2, e4m3)"""
    for dtype in (torch.float8_e5m2, torch.float8_e4m3fn):
        a, b = (torch.randn(64, 64).to(dtype) for _ in range(2))
        out = multiply(a.cuda(), b.cuda(), empty(64, 64))
        close(out.cpu(), a.float() @ b.float(), 1e-2, str(dtype))


# ---- 4: dropout ----------------------------------------------------------------------------------

@triton.jit
def dropout_kernel(x, out, n, p, seed, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n)
    tl.store(out + i, tl.where(tl.rand(seed, i) > p, v / (1 - p), 0.0), mask=i < n)


def dropped(x, seed):
    out = empty(x.numel())
    dropout_kernel[(triton.cdiv(x.numel(), 1024),)](x, out, x.numel(), 0.3, seed, BLOCK=1024)
    return out.cpu()


@case
def dropout():
    """Philox numbers from a seed"""
    a, x = numbers(20000)
    first, again, other = dropped(x, 123), dropped(x, 123), dropped(x, 512)
    equal(again, first, "the same seed")
    kept = first != 0
    close(first[kept], a[kept] / 0.7, 1e-6, "what is kept")
    close(kept.float().mean(), 0.7, 0.02, "how much is kept")
    holds(not torch.equal(first, other), "another seed")


# ---- 5: layer norm -------------------------------------------------------------------------------

@triton.jit
def norm_kernel(x, y, w, b, means, rstds, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    s = tl.zeros((BLOCK,), tl.float32)
    for at in range(0, n, BLOCK):
        i = at + tl.arange(0, BLOCK)
        s += tl.load(x + row * n + i, mask=i < n, other=0.0)
    mean = tl.sum(s, 0) / n
    s = tl.zeros((BLOCK,), tl.float32)
    for at in range(0, n, BLOCK):
        i = at + tl.arange(0, BLOCK)
        d = tl.where(i < n, tl.load(x + row * n + i, mask=i < n, other=0.0) - mean, 0.0)
        s += d * d
    rstd = 1 / tl.sqrt(tl.sum(s, 0) / n + eps)
    tl.store(means + row, mean)
    tl.store(rstds + row, rstd)
    for at in range(0, n, BLOCK):
        i = at + tl.arange(0, BLOCK)
        v = (tl.load(x + row * n + i, mask=i < n) - mean) * rstd
        tl.store(y + row * n + i, v * tl.load(w + i, mask=i < n) + tl.load(b + i, mask=i < n), mask=i < n)


@triton.jit
def norm_backward_kernel(x, dy, w, means, rstds, dx, dw, db, locks, n, GROUPS: tl.constexpr, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    inside = i < n
    v = (tl.load(x + row * n + i, mask=inside, other=0.0) - tl.load(means + row)) * tl.load(rstds + row)
    g = tl.load(dy + row * n + i, mask=inside, other=0.0)
    wg = tl.load(w + i, mask=inside, other=0.0) * g
    v = tl.where(inside, v, 0.0)
    d = (wg - v * (tl.sum(v * wg, 0) / n) - tl.sum(wg, 0) / n) * tl.load(rstds + row)
    tl.store(dx + row * n + i, d, mask=inside)
    lock, group = locks + row % GROUPS, row % GROUPS
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    pw, pb = dw + group * n + i, db + group * n + i
    tl.store(pw, tl.load(pw, mask=inside) + g * v, mask=inside)
    tl.store(pb, tl.load(pb, mask=inside) + g, mask=inside)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


@case
def layer_norm():
    """forward; backward with locks for its sums"""
    rows, n = 60, 300
    a, x = numbers(rows, n)
    w, wg = numbers(n)
    b, bg = numbers(n)
    d, dg = numbers(rows, n)
    y, mean, rstd = empty(rows, n), empty(rows), empty(rows)
    norm_kernel[(rows,)](x, y, wg, bg, mean, rstd, n, 1e-5, BLOCK=128)
    for t in (a, w, b):
        t.requires_grad_()
    want = torch.nn.functional.layer_norm(a, (n,), w, b, 1e-5)
    want.backward(d)
    close(y.cpu(), want.detach(), 1e-5, "forward")
    dx, dw, db = empty(rows, n), torch.zeros(4, n).cuda(), torch.zeros(4, n).cuda()
    locks = torch.zeros(4, dtype=torch.int32).cuda()
    norm_backward_kernel[(rows,)](x, dg, wg, mean, rstd, dx, dw, db, locks, n, GROUPS=4, BLOCK=512)
    close(dx.cpu(), a.grad, 1e-4, "gradient of x")
    close(dw.cpu().sum(0), w.grad, 1e-4, "gradient of the weights")
    close(db.cpu().sum(0), b.grad, 1e-4, "gradient of the bias")


# ---- 6: attention --------------------------------------------------------------------------------

@triton.jit
def attention_kernel(q, k, v, out, n, scale, CAUSAL: tl.constexpr, D: tl.constexpr, BM: tl.constexpr,
                     BN: tl.constexpr):
    block, head = tl.program_id(0), tl.program_id(1) * n * D
    i, d, j = block * BM + tl.arange(0, BM), tl.arange(0, D), tl.arange(0, BN)
    query = tl.load(q + head + i[:, None] * D + d[None, :])
    most = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    s = tl.zeros((BM, D), tl.float32)
    end = (block + 1) * BM if CAUSAL else n
    for at in range(0, end, BN):
        key = tl.load(k + head + (at + j)[None, :] * D + d[:, None])
        score = tl.dot(query, key) * (scale * 1.4426950408889634)
        if CAUSAL:
            score = tl.where(i[:, None] >= (at + j)[None, :], score, -1.0e6)
        larger = tl.maximum(most, tl.max(score, 1))
        p = tl.math.exp2(score - larger[:, None])
        fade = tl.math.exp2(most - larger)
        total = total * fade + tl.sum(p, 1)
        value = tl.load(v + head + (at + j)[:, None] * D + d[None, :])
        s = tl.dot(p.to(tl.float16), value, s * fade[:, None])
        most = larger
    tl.store(out + head + i[:, None] * D + d[None, :], (s / total[:, None]).to(tl.float16))


@case
def attention():
    """flash attention, causal and not, one head size after the other"""
    for size in (32, 64):
        (a, q), (b, k), (c, v) = (numbers(2, 3, 256, size, dtype=torch.float16) for _ in range(3))
        for causal in (False, True):
            out = empty(2, 3, 256, size, dtype=torch.float16)
            attention_kernel[(4, 6)](q, k, v, out, 256, size**-0.5, CAUSAL=causal, D=size, BM=64, BN=32)
            want = torch.nn.functional.scaled_dot_product_attention(a.float(), b.float(), c.float(), is_causal=causal)
            close(out.cpu(), want.half(), 5e-3, f"size {size}, causal {causal}")


@triton.jit
def attention_rows_kernel(q, k, v, out, d_out, d_q, sums, deltas, n, scale, CAUSAL: tl.constexpr, D: tl.constexpr,
                          BM: tl.constexpr, BN: tl.constexpr):
    """Computes the gradient of the queries, and for each row the values that the other kernel needs: log2 of its
    softmax's sum, and d_out · out."""
    block, head = tl.program_id(0), tl.program_id(1) * n * D
    i, d, j = block * BM + tl.arange(0, BM), tl.arange(0, D), tl.arange(0, BN)
    rows = head + i[:, None] * D + d[None, :]
    query, g = tl.load(q + rows), tl.load(d_out + rows)
    delta = tl.sum(tl.load(out + rows).to(tl.float32) * g.to(tl.float32), 1)
    most = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    end = (block + 1) * BM if CAUSAL else n
    for at in range(0, end, BN):
        key = tl.load(k + head + (at + j)[None, :] * D + d[:, None])
        score = tl.dot(query, key) * (scale * 1.4426950408889634)
        if CAUSAL:
            score = tl.where(i[:, None] >= (at + j)[None, :], score, -1.0e6)
        larger = tl.maximum(most, tl.max(score, 1))
        total = total * tl.math.exp2(most - larger) + tl.sum(tl.math.exp2(score - larger[:, None]), 1)
        most = larger
    most += tl.math.log2(total)
    s = tl.zeros((BM, D), tl.float32)
    for at in range(0, end, BN):
        key = tl.load(k + head + (at + j)[:, None] * D + d[None, :])
        value = tl.load(v + head + (at + j)[None, :] * D + d[:, None])
        p = tl.math.exp2(tl.dot(query, tl.trans(key)) * (scale * 1.4426950408889634) - most[:, None])
        if CAUSAL:
            p = tl.where(i[:, None] >= (at + j)[None, :], p, 0.0)
        ds = p * (tl.dot(g, value) - delta[:, None])
        s = tl.dot(ds.to(tl.float16), key, s)
    tl.store(d_q + rows, (s * scale).to(tl.float16))
    tl.store(sums + tl.program_id(1) * n + i, most)
    tl.store(deltas + tl.program_id(1) * n + i, delta)


@triton.jit
def attention_columns_kernel(q, k, v, d_out, d_k, d_v, sums, deltas, n, scale, CAUSAL: tl.constexpr, D: tl.constexpr,
                             BM: tl.constexpr, BN: tl.constexpr):
    """Computes the gradients of the keys and the values, with products of transposed matrices."""
    block, head = tl.program_id(0), tl.program_id(1) * n * D
    j, d, i = block * BN + tl.arange(0, BN), tl.arange(0, D), tl.arange(0, BM)
    columns = head + j[:, None] * D + d[None, :]
    key, value = tl.load(k + columns), tl.load(v + columns)
    sk, sv = tl.zeros((BN, D), tl.float32), tl.zeros((BN, D), tl.float32)
    begin = block * BN // BM * BM if CAUSAL else 0
    for at in range(begin, n, BM):
        query = tl.load(q + head + (at + i)[:, None] * D + d[None, :])
        g = tl.load(d_out + head + (at + i)[:, None] * D + d[None, :])
        most = tl.load(sums + tl.program_id(1) * n + at + i)
        delta = tl.load(deltas + tl.program_id(1) * n + at + i)
        p = tl.math.exp2(tl.dot(key, tl.trans(query)) * (scale * 1.4426950408889634) - most[None, :])
        if CAUSAL:
            p = tl.where((at + i)[None, :] >= j[:, None], p, 0.0)
        sv = tl.dot(p.to(tl.float16), g, sv)
        ds = p * (tl.dot(value, tl.trans(g)) - delta[None, :])
        sk = tl.dot(ds.to(tl.float16), query, sk)
    tl.store(d_k + columns, (sk * scale).to(tl.float16))
    tl.store(d_v + columns, sv.to(tl.float16))


@case
def attention_gradient():
    """gradients of flash attention for queries, keys and values, causal and not"""
    n, size = 128, 32
    (a, q), (b, k), (c, v), (e, g) = (numbers(2, 2, n, size, dtype=torch.float16) for _ in range(4))
    for causal in (False, True):
        parts = [t.float().requires_grad_() for t in (a, b, c)]
        want = torch.nn.functional.scaled_dot_product_attention(*parts, is_causal=causal)
        want.backward(e.float())
        out, d_q, d_k, d_v = (empty(2, 2, n, size, dtype=torch.float16) for _ in range(4))
        sums, deltas = empty(4, n), empty(4, n)
        attention_kernel[(n // 64, 4)](q, k, v, out, n, size**-0.5, CAUSAL=causal, D=size, BM=64, BN=32)
        shared = dict(CAUSAL=causal, D=size, BM=32, BN=32)
        attention_rows_kernel[(n // 32, 4)](q, k, v, out, g, d_q, sums, deltas, n, size**-0.5, **shared)
        attention_columns_kernel[(n // 32, 4)](q, k, v, g, d_k, d_v, sums, deltas, n, size**-0.5, **shared)
        for got, t, what in zip((d_q, d_k, d_v), parts, ("queries", "keys", "values")):
            close(got.cpu().float(), t.grad, 1e-2, f"gradient of the {what}, causal {causal}")


# ---- more features from the tutorials ------------------------------------------------------------

@triton.autotune(configs=[triton.Config({"BLOCK": b}, num_warps=w) for b in (128, 512) for w in (2, 4)], key=["n"])
@triton.jit
def scale_kernel(x, out, n, by, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) * by, mask=i < n)


@case
def autotune():
    """four configurations, timed by events; the fastest is used"""
    a, x = numbers(3000)
    out = empty(3000)
    scale_kernel[lambda meta: (triton.cdiv(3000, meta["BLOCK"]),)](x, out, 3000, 3.0)
    equal(out.cpu(), a * 3)


@triton.jit
def many_kernel(x, sums, sorted_, positions, hist, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    tl.store(sums + i, tl.cumsum(v, 0))
    tl.store(sorted_ + i, tl.sort(v))
    tl.store(positions, tl.argmax(v, 0))
    tl.store(hist + tl.arange(0, 16), tl.histogram((v * 2 + 8).to(tl.int32), 16))


@case
def scans_and_sorts():
    """cumsum, sort, argmax, histogram, atomics in a block"""
    a = torch.randn(1024).clamp(-3.9, 3.9)
    sums, order, where, hist = empty(1024), empty(1024), empty(1, dtype=torch.int32), empty(16, dtype=torch.int32)
    many_kernel[(1,)](a.cuda(), sums, order, where, hist, N=1024)
    close(sums.cpu(), a.cumsum(0), 1e-4, "cumsum")
    equal(order.cpu(), a.sort().values, "sort")
    equal(where.cpu(), a.argmax().reshape(1), "argmax")
    equal(hist.cpu(), torch.bincount((a * 2 + 8).int(), minlength=16), "histogram")


if __name__ == "__main__":
    main()
