/* SPDX-License-Identifier: Apache-2.0
 * A service: a small kernel for each request, one request every few milliseconds.
 * usage: service [REQUESTS [INTERVAL_MS]]; without REQUESTS it runs until SIGTERM.
 */
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <unistd.h>
#include <vector>

static volatile sig_atomic_t stopped;

static void stop(int) {
    stopped = 1;
}

__global__ void answer(float *data) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int step = 0; step < 20; step++)
        data[i] = data[i] * 0.5f + 1.0f;
}

static double now_ms() {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

static void check(cudaError_t e) {
    if (e == cudaSuccess) return;
    fprintf(stderr, "service: %s\n", cudaGetErrorString(e));
    exit(1);
}

int main(int argc, char **argv) {
    long requests = argc > 1 ? atol(argv[1]) : 0;
    long interval_ms = argc > 2 ? atol(argv[2]) : 5;
    signal(SIGTERM, stop);
    float *data;
    check(cudaMalloc(&data, 256 * sizeof(float)));
    check(cudaMemset(data, 0, 256 * sizeof(float)));
    std::vector<double> took;
    while (!stopped && (!requests || (long)took.size() < requests)) {
        double begin = now_ms();
        answer<<<2, 128>>>(data);
        check(cudaGetLastError());
        check(cudaDeviceSynchronize());
        took.push_back(now_ms() - begin);
        usleep(interval_ms * 1000);
    }
    std::sort(took.begin(), took.end());
    size_t n = took.size();
    if (n)
        printf("service: %zu requests, p50 %.2f ms, p99 %.2f ms\n", n, took[n / 2],
               took[n * 99 / 100]);
    return 0;
}
