/* SPDX-License-Identifier: Apache-2.0
 * Products of matrices on tensor cores: a tiled product by wmma with f32 and with f16
 * accumulators, one of bytes, and one by ldmatrix and mma in assembly, as libraries have it. All
 * values are small integers, so that the results are exact and the CPU's are the same in any
 * order. */
#include <cuda_fp16.h>
#include <mma.h>

#include "common.h"

using namespace nvcuda;

#define N 64

template <typename Sum, typename In> __global__ void by_wmma(const In *a, const In *b, Sum *c) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, In, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, In, wmma::col_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 16, Sum> sum;
    int row = blockIdx.y * 16, col = blockIdx.x * 16;
    wmma::fill_fragment(sum, Sum(0));
    for (int k = 0; k < N; k += 16) {
        wmma::load_matrix_sync(fa, a + row * N + k, N);
        wmma::load_matrix_sync(fb, b + col * N + k, N); /* b is stored by columns */
        wmma::mma_sync(sum, fa, fb, sum);
    }
    for (int k = 0; k < sum.num_elements; k++)
        sum.x[k] = sum.x[k] + sum.x[k];
    wmma::store_matrix_sync(c + row * N + col, sum, N, wmma::mem_row_major);
}

/* One warp computes 16 rows and 8 columns at a time, through shared memory. */
__global__ void by_mma(const half *a, const half *b, float *c) {
    __shared__ __align__(16) half ta[16][8], tb[8][8];
    int row = blockIdx.y * 16, col = blockIdx.x * 8, lane = threadIdx.x;
    float d[4] = {0, 0, 0, 0};
    for (int k = 0; k < N; k += 8) {
        for (int e = lane; e < 16 * 8; e += 32)
            ta[e / 8][e % 8] = a[(row + e / 8) * N + k + e % 8];
        for (int e = lane; e < 8 * 8; e += 32)
            tb[e / 8][e % 8] = b[(col + e / 8) * N + k + e % 8];
        __syncwarp();
        unsigned fa[2], fb;
        unsigned pa = (unsigned)__cvta_generic_to_shared(ta[lane % 16]);
        unsigned pb = (unsigned)__cvta_generic_to_shared(tb[lane % 8]);
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1},[%2];"
                     : "=r"(fa[0]), "=r"(fa[1])
                     : "r"(pa));
        asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0},[%1];" : "=r"(fb) : "r"(pb));
        asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 "
                     "{%0,%1,%2,%3},{%4,%5},{%6},{%0,%1,%2,%3};"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                     : "r"(fa[0]), "r"(fa[1]), "r"(fb));
        __syncwarp();
    }
    for (int i = 0; i < 4; i++)
        c[(row + lane / 4 + i / 2 * 8) * N + col + lane % 4 * 2 + i % 2] = 2 * d[i];
}

template <typename T> static T *on_device(const T *from) {
    T *to;
    CHECK(cudaMalloc(&to, N * N * sizeof(T)));
    CHECK(cudaMemcpy(to, from, N * N * sizeof(T), cudaMemcpyHostToDevice));
    return to;
}

template <typename T>
static uint64_t checked(uint64_t sum, const T *device, const int *want, const char *what) {
    static T got[N * N];
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(got, device, sizeof got, cudaMemcpyDeviceToHost));
    for (int k = 0; k < N * N; k++)
        REQUIRE((float)got[k] == (float)want[k], "%s: element %d is %g, expected %d", what, k,
                (double)(float)got[k], want[k]);
    return checksum_add(sum, got, sizeof got);
}

int main(void) {
    static half a[N * N], b[N * N];
    static signed char sa[N * N], sb[N * N];
    static int want[N * N];
    uint32_t seed = 5;
    for (int k = 0; k < N * N; k++) {
        sa[k] = (signed char)(random_next(&seed) % 9) - 4;
        sb[k] = (signed char)(random_next(&seed) % 9) - 4;
        a[k] = __float2half(sa[k]);
        b[k] = __float2half(sb[k]);
    }
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            for (int k = 0; k < N; k++)
                want[i * N + j] += 2 * sa[i * N + k] * sb[j * N + k];
    half *da = on_device(a), *db = on_device(b), *dh = on_device(a);
    signed char *ds = on_device(sa), *dt = on_device(sb);
    int *di = on_device(want);
    float *df;
    CHECK(cudaMalloc(&df, N * N * sizeof(float)));
    dim3 grid(N / 16, N / 16);
    uint64_t sum = CHECKSUM_START;
    by_wmma<float, half><<<grid, 32>>>(da, db, df);
    sum = checked(sum, df, want, "wmma of f16 to f32");
    by_wmma<half, half><<<grid, 32>>>(da, db, dh);
    sum = checked(sum, dh, want, "wmma of f16 to f16");
    by_wmma<int, signed char><<<grid, 32>>>(ds, dt, di);
    sum = checked(sum, di, want, "wmma of s8");
    by_mma<<<dim3(N / 8, N / 16), 32>>>(da, db, df);
    sum = checked(sum, df, want, "ldmatrix and mma");
    checksum_print("tensor", sum);
    CHECK(cudaDeviceReset());
    return 0;
}
