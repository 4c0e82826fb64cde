// SPDX-License-Identifier: Apache-2.0
// Kernels of the software GPU's benchmark and first tests. ptx/bench.75.ptx is made of this by
// `nvcc -ptx -arch=compute_75`, and committed so that tests need no compiler.
#define TILE 16

extern "C" __global__ void vecadd(const float *a, const float *b, float *c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}

extern "C" __global__ void matmul(const float *a, const float *b, float *c, int n) {
    __shared__ float left[TILE][TILE], right[TILE][TILE];
    int col = blockIdx.x * TILE + threadIdx.x, row = blockIdx.y * TILE + threadIdx.y;
    float sum = 0;
    for (int k = 0; k < n; k += TILE) {
        left[threadIdx.y][threadIdx.x] = a[row * n + k + threadIdx.x];
        right[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * n + col];
        __syncthreads();
        for (int j = 0; j < TILE; j++)
            sum += left[threadIdx.y][j] * right[j][threadIdx.x];
        __syncthreads();
    }
    c[row * n + col] = sum;
}

/* The same kernel with asynchronous copies, from sm_80 on. */
__device__ static void copy_async(float *to, const float *from) {
#if __CUDA_ARCH__ >= 800
    unsigned shared = (unsigned)__cvta_generic_to_shared(to);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(shared), "l"(from) : "memory");
#else
    *to = *from;
#endif
}

__device__ static void copies_done(void) {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
    __syncthreads();
}

extern "C" __global__ void matmul_async(const float *a, const float *b, float *c, int n) {
    __shared__ float left[TILE][TILE], right[TILE][TILE];
    int col = blockIdx.x * TILE + threadIdx.x, row = blockIdx.y * TILE + threadIdx.y;
    float sum = 0;
    for (int k = 0; k < n; k += TILE) {
        copy_async(&left[threadIdx.y][threadIdx.x], &a[row * n + k + threadIdx.x]);
        copy_async(&right[threadIdx.y][threadIdx.x], &b[(k + threadIdx.y) * n + col]);
        copies_done();
        for (int j = 0; j < TILE; j++)
            sum += left[threadIdx.y][j] * right[j][threadIdx.x];
        __syncthreads();
    }
    c[row * n + col] = sum;
}

/* A warp computes 16 rows and 8 columns, on tensor cores in tf32, from sm_80 on. */
extern "C" __global__ void matmul_tensor(const float *a, const float *b, float *c, int n) {
    int row = blockIdx.y * 16 + threadIdx.x / 4, col = blockIdx.x * 8 + threadIdx.x / 4;
    int place = threadIdx.x % 4;
    float d[4] = {0, 0, 0, 0};
#if __CUDA_ARCH__ >= 800
    for (int k = place; k < n; k += 8)
        asm volatile(
            "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
            "{%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
            : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
            : "r"(__float_as_uint(a[row * n + k])), "r"(__float_as_uint(a[(row + 8) * n + k])),
              "r"(__float_as_uint(a[row * n + k + 4])),
              "r"(__float_as_uint(a[(row + 8) * n + k + 4])), "r"(__float_as_uint(b[k * n + col])),
              "r"(__float_as_uint(b[(k + 4) * n + col])));
#endif
    for (int i = 0; i < 4; i++)
        c[(row + i / 2 * 8) * n + blockIdx.x * 8 + place * 2 + i % 2] = d[i];
}

extern "C" __global__ void matmul_naive(const float *a, const float *b, float *c, int n) {
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= n || col >= n) return;
    float sum = 0;
    for (int k = 0; k < n; k++)
        sum += a[row * n + k] * b[k * n + col];
    c[row * n + col] = sum;
}

extern "C" __global__ void reduction(const float *in, float *out, int n) {
    __shared__ float part[32];
    float v = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        v += in[i];
    for (int step = 16; step; step /= 2)
        v += __shfl_down_sync(0xffffffffu, v, step);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;
    __syncthreads();
    if (threadIdx.x < 32) {
        v = threadIdx.x < blockDim.x / 32 ? part[threadIdx.x] : 0;
        for (int step = 16; step; step /= 2)
            v += __shfl_xor_sync(0xffffffffu, v, step);
        if (!threadIdx.x) atomicAdd(out, v);
    }
}

extern "C" __global__ void histogram(const unsigned char *in, unsigned *out, int n) {
    __shared__ unsigned bins[256];
    for (int i = threadIdx.x; i < 256; i += blockDim.x)
        bins[i] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&bins[in[i]], 1u);
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += blockDim.x)
        atomicAdd(&out[i], bins[i]);
}

extern "C" __global__ void vecadd4(const float4 *a, const float4 *b, float4 *c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float4 x = a[i], y = b[i];
    c[i] = make_float4(x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w);
}
