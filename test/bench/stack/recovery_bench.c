/* SPDX-License-Identifier: Apache-2.0
 *
 * A job whose worker ends while it works: MIB of memory, and rounds of a kernel, a fill and a copy
 * back that is compared, one each millisecond. Prints a line once it works. When its standard input
 * ends, prints its rounds and the longest time between the ends of two rounds: the cost of a
 * worker's end for the job.
 *
 *   recovery_bench MIB
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fdutil.h"
#include "test/bench/lib/gpu.h"

#define PAUSE_US 1000
#define WARM_ROUNDS 50
#define WORDS 1024

static struct gpu gpu;
static CUdeviceptr memory;
static size_t bytes;

/* Uses a different part of the memory each time. */
static void round_of(uint32_t number) {
    static uint32_t got[WORDS];
    CUdeviceptr at = memory + (uint64_t)number * sizeof(got) % bytes;
    GPU(cuLaunchKernel(gpu.null8, 1, 1, 1, 32, 1, 1, 0, NULL, gpu_null8_params, NULL));
    GPU(cuMemsetD32Async(at, number, WORDS, NULL));
    GPU(cuMemcpyDtoH_v2(got, at, sizeof(got)));
    for (int i = 0; i < WORDS; i++)
        if (got[i] != number) {
            fprintf(stderr, "round %u: word %d is %u\n", number, i, got[i]);
            exit(1);
        }
}

static int is_told_to_end(void) {
    struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
    return poll(&in, 1, 0) > 0;
}

int main(int argc, char **argv) {
    uint64_t longest_ns = 0, last_ns;
    uint32_t rounds = 0;
    bytes = (size_t)(argc > 1 ? strtoul(argv[1], NULL, 10) : 0) << 20;
    if (argc != 2 || !bytes) return 2;
    gpu_start(&gpu);
    GPU(cuMemAlloc_v2(&memory, bytes));
    GPU(cuMemsetD8_v2(memory, 0x5a, bytes));
    while (rounds < WARM_ROUNDS)
        round_of(++rounds);
    puts("at work");
    fflush(stdout);
    last_ns = fdutil_now_ns();
    while (!is_told_to_end()) {
        usleep(PAUSE_US);
        round_of(++rounds);
        uint64_t now_ns = fdutil_now_ns();
        if (now_ns - last_ns > longest_ns) longest_ns = now_ns - last_ns;
        last_ns = now_ns;
    }
    printf("{\"bench\": \"recovery\", \"rounds\": %u, \"longest_ms\": %.3f}\n", rounds,
           (double)longest_ns / 1e6);
    return 0;
}
