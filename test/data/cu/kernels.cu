// SPDX-License-Identifier: Apache-2.0
// Everyday kernels: arithmetic, shared memory, warp operations, atomics, a switch.
extern __shared__ float dynamic[];

__global__ void __launch_bounds__(256, 2)
    saxpy(float a, const float *__restrict__ x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}

__global__ void sum(const double *in, double *out, int n) {
    __shared__ double part[32];
    double s = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        s += in[i];
    for (int d = 16; d; d >>= 1)
        s += __shfl_xor_sync(0xffffffff, s, d);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = s;
    if (__syncthreads_or(s < 0)) return;
    if (threadIdx.x == 0) {
        for (unsigned w = 1; w < blockDim.x / 32; w++)
            s += part[w];
        atomicAdd(out, s);
    }
}

__global__ void tile(const float4 *in, float4 *out) {
    float4 *shared = (float4 *)dynamic;
    shared[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = shared[blockDim.x - 1 - threadIdx.x];
}

__global__ void choose(const int *in, unsigned *hist, long long *wide) {
    unsigned lane = threadIdx.x & 31, ballot = __ballot_sync(0xffffffff, in[lane] > 3);
    switch (in[threadIdx.x]) {
    case 0: atomicInc(hist, 7); break;
    case 1: atomicCAS(hist + 1, 2, 3); break;
    case 2: atomicMax(hist + 2, lane); break;
    case 3: hist[3] = __popc(ballot) + __clz(lane) + __brev(lane); break;
    case 4: wide[lane] = wide[lane] / in[lane] + wide[lane] % 10; break;
    case 5: hist[5] = __byte_perm(lane, ballot, 0x1234); break;
    case 6: hist[6] = __funnelshift_l(lane, ballot, 3); break;
    default: __nanosleep(10); break;
    }
}
