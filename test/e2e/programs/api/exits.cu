/* SPDX-License-Identifier: Apache-2.0
 * Exits while kernels never end, which CUDA permits: by return or by exit() in another thread.
 *   exits grid|queue|streams|graph|thread|destroyed|static */
#include <cuda.h>
#include <pthread.h>
#include <unistd.h>

#include "common.h"

#define STATUS 23

__global__ void spin(volatile int *cell) {
    while (*cell == 0) {
    }
}

static int *cell;
static cudaStream_t streams[8];

static void launch_graph(void) {
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaStreamBeginCapture(streams[0], cudaStreamCaptureModeGlobal));
    spin<<<1, 32, 0, streams[0]>>>(cell);
    CHECK(cudaStreamEndCapture(streams[0], &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphLaunch(exec, streams[0]));
}

/* Programs often destroy objects after main(): CUDA waits for none of these calls. */
static void destroy(void) {
    for (int i = 0; i < 8; i++)
        CHECK(cudaStreamDestroy(streams[i]));
}

/* Constructed before the driver is initialised, thus destroyed after its end: CUDA returns an error
 * then. */
struct holder {
    bool frees = false;
    ~holder() {
        cudaError_t e = frees ? cudaFree(cell) : cudaErrorCudartUnloading;
        if (e == cudaErrorCudartUnloading) return;
        fprintf(stderr, "cudaFree behind the driver's end: %d\n", (int)e);
        _exit(1);
    }
};
static holder held;

static void *leave(void *) {
    exit(STATUS);
}

int main(int argc, char **argv) {
    const char *how = argc > 1 ? argv[1] : "grid";
    pthread_t thread;
    CHECK(cudaMalloc(&cell, 4096));
    CHECK(cudaMemset(cell, 0, 4096));
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < 8; i++)
        CHECK(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking));
    spin<<<!strcmp(how, "grid") ? 2147483647u : 1, 1024>>>(cell);
    for (int i = 0; !strcmp(how, "queue") && i < 100; i++)
        spin<<<1, 32>>>(cell);
    for (int i = 0; !strcmp(how, "streams") && i < 8; i++)
        spin<<<1, 32, 0, streams[i]>>>(cell);
    if (!strcmp(how, "graph")) launch_graph();
    if (!strcmp(how, "destroyed")) atexit(destroy);
    held.frees = !strcmp(how, "static");
    CHECK(cudaGetLastError());
    if (strcmp(how, "thread") != 0) return STATUS;
    REQUIRE(pthread_create(&thread, NULL, leave, NULL) == 0, "no thread");
    cudaDeviceSynchronize();
    return 1;
}
