// SPDX-License-Identifier: Apache-2.0
// Kernels that exercise the engine: divergence, calls, lanes together, barriers, atomics, the
// device runtime. test/unit compares each with a plain C model.
#include <cassert>
#include <cooperative_groups.h>
#include <cstdio>
namespace cg = cooperative_groups;

extern "C" __global__ void collatz(const unsigned *in, unsigned *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned v = in[i], steps = 0;
    while (v > 1) {
        v = v & 1 ? 3 * v + 1 : v / 2;
        steps++;
    }
    out[i] = steps;
}

__device__ __noinline__ unsigned ackermann(unsigned m, unsigned n) {
    if (!m) return n + 1;
    if (!n) return ackermann(m - 1, 1);
    return ackermann(m - 1, ackermann(m, n - 1));
}
extern "C" __global__ void recursion(const unsigned *in, unsigned *out) {
    out[threadIdx.x] = ackermann(in[threadIdx.x] & 3, in[threadIdx.x] >> 2);
}
__device__ __noinline__ unsigned endless(unsigned n) { /* cannot become a loop */
    volatile unsigned keep[4] = {n, n + 1, n + 2, n + 3};
    return n == 0x12345 ? 0 : (endless(n + 2) ^ keep[n % 4]) * 3 + keep[1];
}
extern "C" __global__ void overflow(unsigned *out) {
    out[0] = endless(out[0] & 1);
}

__device__ __noinline__ int op_add(int a, int b) {
    return a + b;
}
__device__ __noinline__ int op_mul(int a, int b) {
    return a * b;
}
__device__ __noinline__ int op_deep(int a, int b) {
    return a < 3 ? op_add(a, b) : op_deep(a - 1, b) + 1;
}
__device__ int (*operations[3])(int, int) = {op_add, op_mul, op_deep};
extern "C" __global__ void pointers(const int *in, int *out) {
    int t = threadIdx.x;
    out[t] = operations[in[t] % 3](in[t], t);
}
extern "C" __global__ void wild_pointer(unsigned long long where, int *out) {
    out[0] = ((int (*)(int, int))where)(1, 2);
}

struct Base {
    __device__ virtual int f(int x) = 0;
};
struct Twice : Base {
    __device__ int f(int x) override { return 2 * x; }
};
struct Offset : Base {
    int by;
    __device__ int f(int x) override { return x + by; }
};
extern "C" __global__ void virtuals(const int *in, int *out) {
    Twice twice;
    Offset offset;
    offset.by = threadIdx.x;
    Base *b = in[threadIdx.x] & 1 ? (Base *)&twice : (Base *)&offset;
    out[threadIdx.x] = b->f(in[threadIdx.x]);
}

extern "C" __global__ void dispatch(const int *in, int *out) {
    int v = in[threadIdx.x], r = 0;
    switch (v) {
    case 0: r = v + 11; break;
    case 1: r = v * 7 - 3; break;
    case 2: r = v ^ 0x55; break;
    case 3: r = 1 << v; break;
    case 4: r = v * v * v; break;
    case 5: r = -v; break;
    case 6: r = ~v; break;
    case 7: r = v / 3; break;
    default: r = 1000 + v;
    }
    out[threadIdx.x] = r;
}

extern "C" __global__ void arrays(const int *in, int *out) {
    int a[40];
    for (int i = 0; i < 40; i++)
        a[i] = in[(threadIdx.x * 7 + i) % 64] % 40;
    int at = threadIdx.x % 40, sum = 0;
    for (int i = 0; i < 100; i++) {
        sum += a[at] * i;
        a[(at + i) % 40] = (a[at] + i) % 40;
        at = a[at];
    }
    out[threadIdx.x] = sum;
}

extern "C" __global__ void shuffles(const int *in, int *out) {
    int t = threadIdx.x, v = in[t];
    out[0 * 32 + t] = __shfl_sync(~0u, v, in[t]);
    out[1 * 32 + t] = __shfl_up_sync(~0u, v, 3);
    out[2 * 32 + t] = __shfl_down_sync(~0u, v, 5);
    out[3 * 32 + t] = __shfl_xor_sync(~0u, v, 9);
    out[4 * 32 + t] = __shfl_sync(~0u, v, in[t], 8);
    out[5 * 32 + t] = __shfl_up_sync(~0u, v, 3, 16);
    out[6 * 32 + t] = __shfl_down_sync(~0u, v, 2, 4);
    out[7 * 32 + t] = __shfl_xor_sync(~0u, v, 5, 8);
}

extern "C" __global__ void votes(const int *in, unsigned *out) {
    int t = threadIdx.x, v = in[t];
    out[0 * 32 + t] = __ballot_sync(~0u, v & 1);
    out[1 * 32 + t] = __any_sync(~0u, v == 77);
    out[2 * 32 + t] = __all_sync(~0u, v < 1000);
    out[3 * 32 + t] = __match_any_sync(~0u, v & 7);
    int all;
    unsigned same = __match_all_sync(~0u, v >= 0, &all);
    out[4 * 32 + t] = same ^ (unsigned)all;
    out[5 * 32 + t] = __activemask();
    if (t % 3 == 1) {
        unsigned m = 0x92492492;
        out[6 * 32 + t] = __ballot_sync(m, v & 2);
    } else {
        unsigned m = ~0x92492492u;
        out[6 * 32 + t] = __ballot_sync(m, v & 4);
    }
    __syncwarp();
}

/* Compilers duplicate code: the members of one barrier arrive from two instructions. */
extern "C" __global__ void duplicated(const int *in, int *out) {
    int t = threadIdx.x, v;
    if (in[t] & 1) {
        v = __shfl_xor_sync(~0u, in[t] * 2, 1);
        v += 1;
    } else {
        v = __shfl_xor_sync(~0u, in[t] * 3, 1);
        v -= 1;
    }
    out[t] = v;
}

extern "C" __global__ void leavers(const int *in, int *out, int n) {
    __shared__ int sum;
    int t = threadIdx.x;
    if (!t) sum = 0;
    __syncthreads();
    if (t >= n) return; /* only the remaining threads take part in the barriers below */
    for (int i = 0; i < 3; i++) {
        atomicAdd(&sum, in[t] + i);
        __syncthreads();
    }
    out[t] = sum;
}

extern "C" __global__ void barrier_reductions(const int *in, int *out) {
    int t = threadIdx.x;
    out[3 * t + 0] = __syncthreads_count(in[t] & 1);
    out[3 * t + 1] = __syncthreads_and(in[t] < 1000);
    out[3 * t + 2] = __syncthreads_or(in[t] == 12345);
}

extern "C" __global__ void divergent_barrier(int *out) {
    __shared__ int v[64];
    int t = threadIdx.x;
    v[t] = t;
    if (t & 1)
        __syncthreads();
    else
        __syncthreads();
    out[t] = v[63 - t];
}

__device__ int locks[4];
extern "C" __global__ void spin_lock(int *counter, int rounds) {
    for (int i = 0; i < rounds; i++) {
        bool done = false;
        while (!done) {
            if (atomicCAS(&locks[i & 3], 0, 1) == 0) {
                volatile int *c = counter + (i & 3);
                *c = *c + 1;
                __threadfence();
                atomicExch(&locks[i & 3], 0);
                done = true;
            }
        }
    }
}

extern "C" __global__ void forever(volatile int *flag) {
    while (*flag != 12345)
        continue;
}
extern "C" __global__ void forever_alone(int *out) {
    unsigned v = threadIdx.x;
    do {
        v = v * 1664525u | 1;
        asm volatile("add.u32 %0, %0, 0;" : "+r"(v)); /* keeps the loop from being optimised away */
    } while (v);
    out[0] = v;
}

/* Block 0 waits for the last block: both must be resident. */
extern "C" __global__ void wait_for_last(volatile int *flag, int *out) {
    if (threadIdx.x == 0) {
        if (blockIdx.x == gridDim.x - 1) *flag = 1;
        while (!*flag)
            continue;
    }
    __syncthreads();
    out[blockIdx.x] = 7;
}

__device__ unsigned finished;
extern "C" __global__ void last_block(const int *in, int *part, int *out, int n) {
    __shared__ int sum;
    if (!threadIdx.x) sum = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&sum, in[i]);
    __syncthreads();
    bool last = false;
    if (!threadIdx.x) {
        part[blockIdx.x] = sum;
        __threadfence();
        last = atomicInc(&finished, gridDim.x - 1) == gridDim.x - 1;
    }
    if (__syncthreads_or(last) && !threadIdx.x) {
        int total = 0;
        for (int b = 0; b < gridDim.x; b++)
            total += ((volatile int *)part)[b];
        *out = total;
    }
}

extern "C" __global__ void grid_sync(int *a, int *b, int rounds) {
    cg::grid_group grid = cg::this_grid();
    int t = grid.thread_rank(), n = grid.size();
    for (int r = 0; r < rounds; r++) {
        b[t] = a[(t + 1) % n] + r;
        grid.sync();
        a[t] = b[(t + 3) % n];
        grid.sync();
    }
}

extern "C" __global__ void groups(const int *in, int *out) {
    auto block = cg::this_thread_block();
    auto tile = cg::tiled_partition<8>(block);
    int v = in[threadIdx.x];
    for (int step = 4; step; step /= 2)
        v += tile.shfl_xor(v, step);
    if (in[threadIdx.x] & 1) {
        auto odd = cg::coalesced_threads();
        v = v * 100 + odd.size() + odd.shfl(v, 0);
    }
    out[threadIdx.x] = v;
}

extern "C" __global__ void atomics(int *w, unsigned long long *d, float *f, double *g, int n) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= n) return;
    atomicAdd(w + 0, t);
    atomicSub(w + 1, 1);
    atomicMin(w + 2, 1000 - t);
    atomicMax(w + 3, t * 3);
    atomicAnd(w + 4, ~(1 << t % 31));
    atomicOr(w + 5, 1 << t % 31);
    atomicXor(w + 6, t);
    atomicInc((unsigned *)w + 7, 9);
    atomicDec((unsigned *)w + 8, 9);
    w[32 + t] = atomicAdd(w + 9, 1);
    atomicExch(w + 10, t);
    atomicAdd(w + 16 + t % 7, 1);
    atomicAdd(d + 0, (unsigned long long)t << 20);
    atomicMax(d + 1, (unsigned long long)t << 33);
    atomicCAS(d + 2, (unsigned long long)t, (unsigned long long)t + 1);
    atomicAdd(f, 0.5f);
    atomicAdd(g, 0.25);
}

extern "C" __global__ void widths(const signed char *a, const short *b, const long long *c,
                                  const float4 *d, const double2 *e, long long *out, float4 *outd,
                                  short *outs, unsigned char *outb) {
    int t = threadIdx.x;
    out[t] = a[t] + b[t] + c[t] + (long long)(d[t].x + d[t].w) + (long long)(e[t].x * e[t].y);
    outd[t] = make_float4(d[t].w, d[t].z, d[t].y, d[t].x);
    outs[t] = (short)(a[t] * b[t]);
    outb[t] = (unsigned char)(b[t] >> 4);
}

extern "C" __global__ void dynamic_shared(const double *in, double *out) {
    extern __shared__ double d[];
    int t = threadIdx.x;
    d[t] = in[t];
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (t < s) d[t] += d[t + s];
        __syncthreads();
    }
    if (!t) *out = d[0];
}
extern "C" __global__ void beyond_shared(int *out, int at) {
    extern __shared__ int s[];
    s[threadIdx.x] = 1;
    out[threadIdx.x] = s[at];
}

extern "C" __global__ void prints(int v, double d, const char *s) {
    printf("<%d|%5d|%-5d|%05d|%u|%x|%c|%s|%8s|%.2f|%g|%lld|%p|%%|%*d>\n", v, v, v, v, v, v, 'A' + v,
           "text", "pad", d, d, (long long)v << 40, (void *)16, 4, v);
    if (s) printf(s, v);
}
extern "C" __global__ void asserts(int v) {
    assert(v + threadIdx.x < 3);
}

extern "C" __global__ void heap_use(int *out, int n) {
    int *p = (int *)malloc(n * sizeof(int));
    if (!p) {
        out[threadIdx.x] = -1;
        return;
    }
    for (int i = 0; i < n; i++)
        p[i] = threadIdx.x * i;
    int sum = 0;
    for (int i = 0; i < n; i++)
        sum += p[i];
    free(p);
    out[threadIdx.x] = sum;
}
extern "C" __global__ void bad_free(int *p) {
    free(p + threadIdx.x);
}

extern "C" __global__ void poke(char *p, long long at) {
    p[at] = 1;
}
extern "C" __global__ void peek32(const int *p, long long at, int *out) {
    out[threadIdx.x] = *(const int *)((const char *)p + at * threadIdx.x);
}
extern "C" __global__ void traps() {
    if (threadIdx.x == 3) __trap();
}
__constant__ int table[5] = {3, 1, 4, 1, 5};
__device__ int *pointer_to_table = nullptr;
extern "C" __global__ void constants(int *out) {
    out[threadIdx.x] = table[threadIdx.x % 5];
}
extern "C" __global__ void shape(unsigned *out) {
    unsigned t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    unsigned b = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    out[b * blockDim.x * blockDim.y * blockDim.z + t] =
        threadIdx.x | threadIdx.y << 4 | threadIdx.z << 8 | blockIdx.x << 12 | blockIdx.y << 16 |
        blockIdx.z << 20 | gridDim.z << 24;
}
