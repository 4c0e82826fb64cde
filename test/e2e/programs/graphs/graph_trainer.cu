/* SPDX-License-Identifier: Apache-2.0
 *
 * A training job whose iterations are graphs that allocate: a forward pass and then a smaller
 * backward pass, and a loss that is read in the next iteration. Every sum is of integers, so that
 * the result depends only on the arguments.
 *   graph_trainer [iterations [model MiB [temporaries MiB [passes]]]]
 */
#include "common.h"

#define MIB (1 << 20)
#define THREADS 256
#define BLOCKS 64

__global__ void fill(uint32_t *out, size_t n, const uint32_t *model, size_t model_n,
                     const uint32_t *step) {
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        out[i] = model[i % model_n] * 2654435761u + (uint32_t)i + *step;
}

__global__ void stir(uint32_t *data, size_t n, int passes) {
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        uint32_t h = data[i];
        for (int p = 0; p < passes; p++)
            h = (h ^ h >> 15) * 2246822519u + (uint32_t)p;
        data[i] = h;
    }
}

__global__ void fold(uint32_t *model, size_t model_n, const uint32_t *data, size_t n) {
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < model_n;
         i += gridDim.x * blockDim.x) {
        uint32_t sum = model[i];
        for (size_t k = i; k < n; k += model_n)
            sum = sum * 31 + data[k];
        model[i] = sum;
    }
}

__global__ void next_step(uint32_t *step) {
    ++*step;
}

static uint32_t *model, *step;
static size_t model_n;
static cudaStream_t s;

static cudaGraphExec_t end_capture(void) {
    cudaGraph_t g;
    cudaGraphExec_t e;
    CHECK(cudaStreamEndCapture(s, &g));
    CHECK(cudaGraphInstantiate(&e, g, 0));
    CHECK(cudaGraphDestroy(g));
    return e;
}

/* Returns a pass whose temporary memory belongs to the graph alone. */
static cudaGraphExec_t capture_pass(size_t n, int passes) {
    uint32_t *data;
    CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    CHECK(cudaMallocAsync((void **)&data, n * sizeof(*data), s));
    fill<<<BLOCKS, THREADS, 0, s>>>(data, n, model, model_n, step);
    stir<<<BLOCKS, THREADS, 0, s>>>(data, n, passes);
    fold<<<BLOCKS, THREADS, 0, s>>>(model, model_n, data, n);
    CHECK(cudaFreeAsync(data, s));
    next_step<<<1, 1, 0, s>>>(step);
    return end_capture();
}

/* Returns a graph that leaves the loss allocated. */
static cudaGraphExec_t capture_loss(uint32_t **loss, size_t n) {
    CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    CHECK(cudaMallocAsync((void **)loss, n * sizeof(**loss), s));
    fill<<<BLOCKS, THREADS, 0, s>>>(*loss, n, model, model_n, step);
    return end_capture();
}

int main(int argc, char **argv) {
    int arg[] = {20, 4, 8, 16};
    for (int i = 1; i < argc && i <= 4; i++)
        arg[i - 1] = atoi(argv[i]);
    const size_t n = (size_t)arg[2] * MIB / sizeof(uint32_t), loss_n = 1000;
    uint32_t *loss, first;
    model_n = (size_t)arg[1] * MIB / sizeof(uint32_t);
    CHECK(cudaStreamCreate(&s));
    CHECK(cudaMalloc(&model, model_n * sizeof(*model)));
    CHECK(cudaMalloc(&step, sizeof(*step)));
    CHECK(cudaMemsetAsync(model, 7, model_n * sizeof(*model), s));
    CHECK(cudaMemsetAsync(step, 0, sizeof(*step), s));
    cudaGraphExec_t forward = capture_pass(n, arg[3]), back = capture_pass(n / 2, arg[3]);
    cudaGraphExec_t look = capture_loss(&loss, loss_n);
    for (int i = 0; i < arg[0]; i++) {
        mark();
        CHECK(cudaGraphLaunch(forward, s));
        if (i) {
            fold<<<BLOCKS, THREADS, 0, s>>>(model, model_n, loss, loss_n);
            CHECK(cudaFreeAsync(loss, s));
        }
        CHECK(cudaGraphLaunch(back, s));
        CHECK(cudaGraphLaunch(look, s));
        CHECK(cudaMemcpyAsync(&first, model, sizeof(first), cudaMemcpyDeviceToHost, s));
        CHECK(cudaStreamSynchronize(s));
    }
    uint32_t *host = (uint32_t *)malloc(model_n * sizeof(*model));
    CHECK(cudaMemcpy(host, model, model_n * sizeof(*model), cudaMemcpyDeviceToHost));
    checksum_print("graph_trainer", checksum_add(CHECKSUM_START, host, model_n * sizeof(*model)));
    free(host);
    CHECK(cudaGraphExecDestroy(forward));
    CHECK(cudaGraphExecDestroy(back));
    CHECK(cudaGraphExecDestroy(look));
    return 0;
}
