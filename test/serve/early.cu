/* SPDX-License-Identifier: Apache-2.0
 *
 * A model's program on the GPU whose time depends on its input, as one with early exits: "y" is "x"
 * after x % 4096 rounds of a generator of random numbers, UINT32.
 */
#include <cstdint>
#include <cstdio>

#include "daemon/serve/model/salus_serve.h"

#define ROOM 4096

__global__ void rounds(const uint32_t *x, uint32_t *y, uint32_t count) {
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    uint32_t h = x[i];
    for (uint32_t n = x[i] % 4096; n > 0; n--)
        h = h * 1664525u + 1013904223u;
    y[i] = h;
}

static int serve(struct salus_serve *s, uint32_t *x, uint32_t *y) {
    static uint32_t out[ROOM];
    struct salus_serve_tensor in;
    if (salus_serve_joined(s, "x", &in)) return -1;
    uint32_t count = (uint32_t)(in.bytes / sizeof(*x));
    if (count > ROOM) return salus_serve_failed(s, "more than 4096 numbers");
    cudaMemcpy(x, in.data, in.bytes, cudaMemcpyHostToDevice);
    rounds<<<(count + 63) / 64, 64>>>(x, y, count);
    cudaError_t err = cudaMemcpy(out, y, in.bytes, cudaMemcpyDeviceToHost);
    if (err) return salus_serve_failed(s, cudaGetErrorString(err));
    if (salus_serve_answer(s, "y", "UINT32", in.rank, in.shape, out)) return -1;
    return salus_serve_done(s);
}

int main(void) {
    uint32_t *x, *y;
    int err = 0;
    if (cudaMalloc(&x, ROOM * sizeof(*x)) || cudaMalloc(&y, ROOM * sizeof(*y))) {
        fprintf(stderr, "early: no memory on the device\n");
        return 1;
    }
    struct salus_serve *s = salus_serve_open();
    while (!err && salus_serve_next(s) > 0)
        err = serve(s, x, y);
    if (*salus_serve_error(s)) fprintf(stderr, "early: %s\n", salus_serve_error(s));
    salus_serve_close(s);
    return err ? 1 : 0;
}
