/* SPDX-License-Identifier: Apache-2.0
 *
 * A job whose work per iteration can be changed while it runs. An iteration is a number of kernels,
 * one after the other, of BLOCKS blocks in which each thread loops TURNS times; the job waits for
 * it and begins the next one at once. A line on its standard input is the number of kernels from
 * then on; the job ends when the input does. It is a service if an iteration is a request, a
 * trainer if it is a step. Its kernels need not be computed, because no result is read.
 *
 *   slo_bench KERNELS BLOCKS TURNS
 */
#include <dlfcn.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "test/bench/lib/gpu.h"

#define THREADS 32u

static struct gpu gpu;
static uint32_t kernels, blocks, turns;
static CUdeviceptr counter;

static void iterate(void (*mark)(void)) {
    void *params[] = {&counter, &turns};
    for (uint32_t k = 0; k < kernels; k++)
        GPU(cuLaunchKernel(gpu.turns, blocks, 1, 1, THREADS, 1, 1, 0, NULL, params, NULL));
    GPU(cuStreamSynchronize(NULL));
    if (mark) mark(); /* marks the start of the next iteration */
}

/* Reads the commands. The input may hold several lines, and incomplete ones: the last complete
 * line counts. */
static int goes_on(void) {
    static char line[16];
    static size_t at;
    struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
    while (poll(&in, 1, 0) > 0) {
        char c;
        if (read(STDIN_FILENO, &c, 1) <= 0) return 0;
        if (c != '\n' && at < sizeof(line) - 1) {
            line[at++] = c;
            continue;
        }
        line[at] = '\0';
        at = 0;
        if (atoi(line) > 0) kernels = (uint32_t)atoi(line);
    }
    return 1;
}

int main(int argc, char **argv) {
    void (*mark)(void) = NULL;
    if (argc != 4) return 2;
    kernels = (uint32_t)atoi(argv[1]);
    blocks = (uint32_t)atoi(argv[2]);
    turns = (uint32_t)atoi(argv[3]);
    if (!kernels || !blocks || !turns) return 2;
    *(void **)&mark = dlsym(RTLD_DEFAULT, "salus_iteration");
    gpu_start(&gpu);
    GPU(cuMemAlloc_v2(&counter, sizeof(uint32_t)));
    GPU(cuMemsetD32_v2(counter, 0, 1));
    while (goes_on())
        iterate(mark);
    return 0;
}
