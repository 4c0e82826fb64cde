// SPDX-License-Identifier: Apache-2.0
// Checks whether another thread ever sees half of a vector store. PTX promises atomicity only per
// element; the software GPU stores 8 and 16 aligned bytes at once, since CUB's scans need it.
#include <cstdio>

#include "scripts/device-probes/report.h"

template <typename T> __device__ T make(unsigned n);
template <> __device__ ulonglong2 make(unsigned n) {
    return make_ulonglong2(n, n);
}
template <> __device__ uint4 make(unsigned n) {
    return make_uint4(n, n, n, n);
}
template <> __device__ uint2 make(unsigned n) {
    return make_uint2(n, n);
}
__device__ void store(ulonglong2 *at, ulonglong2 v) {
    asm volatile("st.relaxed.gpu.v2.u64 [%0], {%1, %2};" ::"l"(at), "l"(v.x), "l"(v.y) : "memory");
}
__device__ void store(uint4 *at, uint4 v) {
    asm volatile("st.relaxed.gpu.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(at), "r"(v.x), "r"(v.y),
                 "r"(v.z), "r"(v.w)
                 : "memory");
}
__device__ void store(uint2 *at, uint2 v) {
    asm volatile("st.relaxed.gpu.v2.u32 [%0], {%1, %2};" ::"l"(at), "r"(v.x), "r"(v.y) : "memory");
}
__device__ bool whole(const ulonglong2 *at) {
    unsigned long long x, y;
    asm volatile("ld.relaxed.gpu.v2.u64 {%0, %1}, [%2];" : "=l"(x), "=l"(y) : "l"(at) : "memory");
    return x == y;
}
__device__ bool whole(const uint4 *at) {
    unsigned x, y, z, w;
    asm volatile("ld.relaxed.gpu.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x), "=r"(y), "=r"(z), "=r"(w)
                 : "l"(at)
                 : "memory");
    return x == y && y == z && z == w;
}
__device__ bool whole(const uint2 *at) {
    unsigned x, y;
    asm volatile("ld.relaxed.gpu.v2.u32 {%0, %1}, [%2];" : "=r"(x), "=r"(y) : "l"(at) : "memory");
    return x == y;
}

// Even blocks write the cells, odd blocks read them.
template <typename T> __global__ void probe(T *cells, unsigned *torn, unsigned rounds) {
    T *mine = &cells[threadIdx.x % 64];
    for (unsigned n = 0; n < rounds; n++)
        if (blockIdx.x % 2)
            atomicAdd(torn, !whole(mine));
        else
            store(mine, make<T>(n + blockIdx.x));
}

/* Returns how many loads were torn; below 0: a call failed. */
template <typename T> static long run(const char *name, unsigned rounds) {
    T *cells;
    unsigned *torn, count = 0;
    cudaMalloc(&cells, 64 * sizeof(T));
    cudaMalloc(&torn, sizeof count);
    cudaMemset(cells, 0, 64 * sizeof(T));
    cudaMemset(torn, 0, sizeof count);
    probe<<<32, 128>>>(cells, torn, rounds);
    cudaError_t err = cudaGetLastError();
    if (!err) err = cudaMemcpy(&count, torn, sizeof count, cudaMemcpyDeviceToHost);
    if (err) {
        probe_fact(name, "%s", cudaGetErrorString(err));
        return -1;
    }
    probe_figure(count, "loads", "%s_torn", name);
    probe_figure(16.0 * 128 * rounds, "loads", "%s_loads", name);
    return count;
}

int main() {
    probe_begin("vector_tearing",
                "Does another thread ever see half of what a lane stores at once?");
    const unsigned rounds = 300;
    long a = run<ulonglong2>("v2.u64", rounds), b = run<uint4>("v4.u32", rounds),
         c = run<uint2>("v2.u32", rounds);
    if (a < 0 || b < 0 || c < 0) return probe_end(false, "failed");
    return probe_end(true,
                     a + b + c ? "%ld loads were torn, which differs from the software GPU"
                               : "no load was torn%.0ld",
                     a + b + c);
}
