/* SPDX-License-Identifier: Apache-2.0
 * Softmax and layer normalisation over rows: exponentials, square roots, block-wide reductions. */
#include <math.h>

#include "common.h"

__device__ float block_reduce(float v, bool is_max, float *shared) {
    for (int offset = 16; offset; offset >>= 1) {
        float o = __shfl_xor_sync(0xffffffffu, v, offset);
        v = is_max ? fmaxf(v, o) : v + o;
    }
    if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = v;
    __syncthreads();
    v = shared[0];
    for (int w = 1; w < blockDim.x / 32; w++)
        v = is_max ? fmaxf(v, shared[w]) : v + shared[w];
    __syncthreads();
    return v;
}

__global__ void softmax(const float *in, float *out, int cols) {
    __shared__ float shared[32];
    const float *x = in + (size_t)blockIdx.x * cols;
    float m = -INFINITY, s = 0;
    for (int i = threadIdx.x; i < cols; i += blockDim.x)
        m = fmaxf(m, x[i]);
    m = block_reduce(m, true, shared);
    for (int i = threadIdx.x; i < cols; i += blockDim.x)
        s += expf(x[i] - m);
    s = block_reduce(s, false, shared);
    for (int i = threadIdx.x; i < cols; i += blockDim.x)
        out[(size_t)blockIdx.x * cols + i] = expf(x[i] - m) / s;
}

__global__ void layernorm(const float *in, float *out, int cols) {
    __shared__ float shared[32];
    const float *x = in + (size_t)blockIdx.x * cols;
    float mean = 0, var = 0;
    for (int i = threadIdx.x; i < cols; i += blockDim.x)
        mean += x[i];
    mean = block_reduce(mean, false, shared) / cols;
    for (int i = threadIdx.x; i < cols; i += blockDim.x)
        var += (x[i] - mean) * (x[i] - mean);
    float inv = rsqrtf(block_reduce(var, false, shared) / cols + 1e-5f);
    for (int i = threadIdx.x; i < cols; i += blockDim.x)
        out[(size_t)blockIdx.x * cols + i] = (x[i] - mean) * inv;
}

static void check_rows(const float *in, const float *soft, const float *norm, int rows, int cols) {
    for (int r = 0; r < rows; r++) {
        const float *x = in + (size_t)r * cols;
        double max = -1e30, sum = 0, mean = 0, var = 0;
        for (int i = 0; i < cols; i++) {
            max = fmax(max, x[i]);
            mean += x[i] / cols;
        }
        for (int i = 0; i < cols; i++) {
            sum += exp(x[i] - max);
            var += (x[i] - mean) * (x[i] - mean) / cols;
        }
        for (int i = 0; i < cols; i++) {
            size_t at = (size_t)r * cols + i;
            double s = exp(x[i] - max) / sum, n = (x[i] - mean) / sqrt(var + 1e-5);
            REQUIRE(fabs(soft[at] - s) < 1e-5, "softmax[%d][%d] = %g, expected %g", r, i, soft[at],
                    s);
            REQUIRE(fabs(norm[at] - n) < 1e-3, "layernorm[%d][%d] = %g, expected %g", r, i,
                    norm[at], n);
        }
    }
}

int main(int argc, char **argv) {
    const int rows = 128, cols = 500, n = rows * cols, rounds = rounds_arg(argc, argv, 3);
    size_t bytes = n * sizeof(float);
    float *in = (float *)malloc(bytes), *soft = (float *)malloc(bytes),
          *norm = (float *)malloc(bytes);
    float *din, *dsoft, *dnorm;
    uint32_t seed = 4;
    CHECK(cudaMalloc(&din, bytes));
    CHECK(cudaMalloc(&dsoft, bytes));
    CHECK(cudaMalloc(&dnorm, bytes));
    uint64_t sum = CHECKSUM_START;
    for (int r = 0; r < rounds; r++) {
        for (int i = 0; i < n; i++)
            in[i] = 4 * random_unit(&seed);
        CHECK(cudaMemcpy(din, in, bytes, cudaMemcpyHostToDevice));
        softmax<<<rows, 128>>>(din, dsoft, cols);
        layernorm<<<rows, 128>>>(din, dnorm, cols);
        CHECK(cudaMemcpy(soft, dsoft, bytes, cudaMemcpyDeviceToHost));
        CHECK(cudaMemcpy(norm, dnorm, bytes, cudaMemcpyDeviceToHost));
        check_rows(in, soft, norm, rows, cols);
        sum = checksum_add(checksum_add(sum, soft, bytes), norm, bytes);
    }
    checksum_print("norm", sum);
    return 0;
}
