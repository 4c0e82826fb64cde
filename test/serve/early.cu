/* SPDX-License-Identifier: Apache-2.0
 *
 * A model's program on the GPU whose time depends on its input, as with early exits. "y" is "x"
 * after x % 4096 rounds of a random number generator, UINT32.
 *   early [factor [fixed]]
 * `factor`: times as many rounds (1). `fixed`: rounds that each batch takes besides, whatever is in
 * it (0).
 */
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "daemon/serve/model/salus_serve.h"

#define ROOM 4096

__device__ uint32_t turn(uint32_t h, uint32_t rounds) {
    for (; rounds > 0; rounds--)
        h = h * 1664525u + 1013904223u;
    return h;
}

__global__ void exits(const uint32_t *x, uint32_t *y, uint32_t count, uint32_t factor) {
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) y[i] = turn(x[i], x[i] % 4096 * factor);
}

__global__ void prelude(uint32_t *y, uint32_t rounds) {
    y[threadIdx.x] = turn(y[threadIdx.x], rounds);
}

struct work {
    uint32_t *x, *y; /* on the device, ROOM numbers each */
    uint32_t factor, fixed;
};

static int serve(struct salus_serve *s, const struct work *w) {
    static uint32_t out[ROOM];
    struct salus_serve_tensor in;
    if (salus_serve_joined(s, "x", &in)) return -1;
    uint32_t count = (uint32_t)(in.bytes / sizeof(*w->x));
    if (count > ROOM) return salus_serve_failed(s, "more than 4096 numbers");
    cudaMemcpy(w->x, in.data, in.bytes, cudaMemcpyHostToDevice);
    if (w->fixed) prelude<<<1, 32>>>(w->y, w->fixed);
    exits<<<(count + 63) / 64, 64>>>(w->x, w->y, count, w->factor);
    cudaError_t err = cudaMemcpy(out, w->y, in.bytes, cudaMemcpyDeviceToHost);
    if (err) return salus_serve_failed(s, cudaGetErrorString(err));
    if (salus_serve_answer(s, "y", "UINT32", in.rank, in.shape, out)) return -1;
    return salus_serve_done(s);
}

int main(int argc, char **argv) {
    struct work w = {NULL, NULL, argc > 1 ? (uint32_t)atoi(argv[1]) : 1,
                     argc > 2 ? (uint32_t)atoi(argv[2]) : 0};
    int err = 0;
    if (cudaMalloc(&w.x, ROOM * sizeof(*w.x)) || cudaMalloc(&w.y, ROOM * sizeof(*w.y))) {
        fprintf(stderr, "early: no memory on the device\n");
        return 1;
    }
    struct salus_serve *s = salus_serve_open();
    while (!err && salus_serve_next(s) > 0)
        err = serve(s, &w);
    if (*salus_serve_error(s)) fprintf(stderr, "early: %s\n", salus_serve_error(s));
    salus_serve_close(s);
    return err ? 1 : 0;
}
