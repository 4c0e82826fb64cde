/* SPDX-License-Identifier: Apache-2.0
 *
 * A job that shares the device with others, until its standard input ends. An iteration allocates
 * MIB MiB (0: none), runs KERNELS kernels, copies a word to the host and waits for it. A kernel has
 * BLOCKS blocks and a few more, so that kernels can be told apart, and each thread loops TURNS
 * times. Between two iterations a service sleeps, uniformly at random up to twice GAP_US. With
 * GAP_US 0 the next iteration begins at once: a trainer.
 *
 *   share_bench KERNELS BLOCKS TURNS MIB GAP_US SEED MARK
 *
 * MARK 1: the program marks the end of each iteration. At the end it prints when each iteration
 * ended, in ns of CLOCK_MONOTONIC, and how long it took. Kernels need not be computed.
 */
#include <dlfcn.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "common/fdutil.h"
#include "test/bench/lib/gpu.h"

#define THREADS 32u
#define MOST (1u << 20) /* iterations that are recorded */

struct work {
    uint32_t kernels, blocks, turns, gap_us, seed;
    size_t bytes;
};

static struct gpu gpu;
static CUdeviceptr counter;
static uint64_t ended_ns[MOST], took_ns[MOST];

static void iterate(const struct work *w) {
    uint32_t word = 0, turns = w->turns;
    void *params[] = {&counter, &turns};
    CUdeviceptr data = 0;
    if (w->bytes) GPU(cuMemAllocAsync(&data, w->bytes, NULL));
    if (w->bytes) GPU(cuMemsetD8Async(data, 1, 4096, NULL));
    for (uint32_t k = 0; k < w->kernels; k++)
        GPU(cuLaunchKernel(gpu.turns, w->blocks + k, 1, 1, THREADS, 1, 1, 0, NULL, params, NULL));
    if (data) GPU(cuMemFreeAsync(data, NULL));
    GPU(cuMemcpyDtoHAsync_v2(&word, counter, sizeof(word), NULL));
    GPU(cuStreamSynchronize(NULL));
}

static void sleep_at_random(struct work *w) {
    if (!w->gap_us) return;
    w->seed = w->seed * 1664525u + 1013904223u;
    uint64_t ns = 2000ull * w->gap_us / 65536 * (w->seed >> 16);
    struct timespec t = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
    nanosleep(&t, NULL);
}

static bool input_ended(void) {
    struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
    char c;
    while (poll(&in, 1, 0) > 0)
        if (read(STDIN_FILENO, &c, 1) <= 0) return true;
    return false;
}

int main(int argc, char **argv) {
    int (*mark)(void) = NULL;
    uint32_t n = 0;
    if (argc != 8) return 2;
    struct work w = {.kernels = (uint32_t)atoi(argv[1]),
                     .blocks = (uint32_t)atoi(argv[2]),
                     .turns = (uint32_t)atoi(argv[3]),
                     .bytes = (size_t)atoi(argv[4]) << 20,
                     .gap_us = (uint32_t)atoi(argv[5]),
                     .seed = (uint32_t)atoi(argv[6])};
    if (!w.kernels || !w.blocks || !w.turns) return 2;
    if (atoi(argv[7])) *(void **)&mark = dlsym(RTLD_DEFAULT, "salus_iteration");
    gpu_start(&gpu);
    GPU(cuMemAlloc_v2(&counter, sizeof(uint32_t)));
    GPU(cuMemsetD32_v2(counter, 0, 1));
    for (; n < MOST && !input_ended(); n++) {
        sleep_at_random(&w);
        uint64_t begun = fdutil_now_ns();
        iterate(&w);
        ended_ns[n] = fdutil_now_ns();
        took_ns[n] = ended_ns[n] - begun;
        if (mark) mark();
    }
    for (uint32_t i = 0; i < n; i++)
        printf("%lu %lu\n", ended_ns[i], took_ns[i]);
    return 0;
}
