/* SPDX-License-Identifier: Apache-2.0
 * Misbehaves in the way that the argument names:
 *   offender oob|null|endless|assert|trap|misaligned|texture|surface
 * Exit status: the CUDA error of the synchronisation, which a test compares with CUDA's
 * documentation. */
#include <string.h>

#undef NDEBUG
#include <assert.h>

#include "common.h"

__global__ void read_far(int *p, long at) {
    p[0] = p[at + threadIdx.x];
}

__global__ void endless(volatile int *p) {
    while (p[0] == 0)
        continue;
}

__global__ void failing_assert(int *p) {
    assert(p[threadIdx.x] == 0 && threadIdx.x < 3);
}

__global__ void trapping(int *p) {
    if (p[0] == 0) __trap();
}

__global__ void misaligned(char *p) {
    *(int *)(p + 1) = 1;
}

__global__ void texture(int *p, cudaTextureObject_t t) {
    p[0] = tex1Dfetch<int>(t, 3);
}

__global__ void surface(int *p, cudaSurfaceObject_t s) {
    p[0] = surf2Dread<int>(s, 4 * threadIdx.x, 0);
}

/* A surface of 8 elements. */
static cudaSurfaceObject_t small(void) {
    cudaChannelFormatDesc f = cudaCreateChannelDesc<int>();
    cudaResourceDesc r = {};
    cudaSurfaceObject_t s;
    CHECK(cudaMallocArray(&r.res.array.array, &f, 8, 8, cudaArraySurfaceLoadStore));
    CHECK(cudaCreateSurfaceObject(&s, &r));
    return s;
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    int *d;
    CHECK(cudaMalloc(&d, 4096));
    CHECK(cudaMemset(d, 0, 4096));
    read_far<<<1, 32>>>(d, 0);
    CHECK(cudaDeviceSynchronize());
    if (!strcmp(what, "oob")) read_far<<<4, 32>>>(d, 1l << 33);
    if (!strcmp(what, "null")) read_far<<<1, 1>>>(NULL, 0);
    if (!strcmp(what, "endless")) endless<<<2, 64>>>(d);
    if (!strcmp(what, "assert")) failing_assert<<<1, 4>>>(d);
    if (!strcmp(what, "trap")) trapping<<<1, 1>>>(d);
    if (!strcmp(what, "misaligned")) misaligned<<<1, 1>>>((char *)d);
    if (!strcmp(what, "texture")) texture<<<1, 32>>>(d, 0x123456789abcull);
    if (!strcmp(what, "surface")) surface<<<1, 9>>>(d, small());
    printf("launched %s\n", what);
    fflush(stdout);
    cudaError_t err = cudaDeviceSynchronize();
    /* The error is sticky: later calls of this client return it too. */
    if (err != cudaSuccess)
        REQUIRE(cudaMemset(d, 0, 4) == err, "the error %d did not stick", (int)err);
    printf("%s: %s\n", what, cudaGetErrorName(err));
    return (int)err % 256;
}
