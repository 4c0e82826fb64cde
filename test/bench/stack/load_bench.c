/* SPDX-License-Identifier: Apache-2.0
 *
 * One client of a loaded device, in steps of STEP launches of a fixed kernel and a wait:
 *
 *   load_bench turn                          finds the kernel's loop count and prints it
 *   load_bench full N START SECONDS          steps in several streams at once, waiting for the
 *                                            oldest only, so that the device always has work for
 *                                            all its threads: its capacity
 *   load_bench step N START SECONDS          waits for each step
 *
 * START is a time of CLOCK_MONOTONIC in ns: clients started together begin together; one that is
 * late reports it, and runs as long. Counts the steps completed at the end, which may be none on a
 * busy machine, and the duration of each. The kernel counts its threads; only a wrong count is a
 * failure.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/fdutil.h"
#include "test/bench/lib/gpu.h"

#define STEP 16
#define BLOCKS 8
#define THREADS 64
#define KERNEL_NS 100000.0 /* approximate time on all the device's threads */
#define STREAMS 8          /* streams of a client that fills the device */
#define STEPS_MAX 200000

static struct gpu gpu;
static CUstream streams[STREAMS];
static CUevent step_end[STREAMS];
static CUdeviceptr count;
static uint32_t turns;
static uint32_t latency_us[STEPS_MAX];
static uint64_t launched;

static void launch_step(CUstream stream) {
    void *params[] = {&count, &turns};
    for (int i = 0; i < STEP; i++)
        GPU(cuLaunchKernel(gpu.turns, BLOCKS, 1, 1, THREADS, 1, 1, 0, stream, params, NULL));
    launched += STEP;
}

static void prepare(void) {
    gpu_start(&gpu);
    for (int i = 0; i < STREAMS; i++) {
        GPU(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
        GPU(cuEventCreate(&step_end[i], CU_EVENT_DISABLE_TIMING));
    }
    GPU(cuMemAlloc_v2(&count, 4));
    GPU(cuMemsetD32_v2(count, 0, 1));
    launch_step(NULL); /* everything that is created once is created now */
    GPU(cuCtxSynchronize());
}

static void find_turns(void) {
    turns = 1000;
    for (int round = 0; round < 6; round++) {
        uint64_t start = fdutil_now_ns();
        for (int i = 0; i < 8; i++)
            launch_step(streams[i]);
        GPU(cuCtxSynchronize());
        double ns = (double)(fdutil_now_ns() - start) / (8 * STEP);
        turns = (uint32_t)((double)turns * KERNEL_NS / ns) + 1;
    }
    printf("%u\n", turns);
}

static int by_value(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static void check_count(void) {
    uint32_t got = 0, want = (uint32_t)(launched * BLOCKS * THREADS);
    GPU(cuMemcpyDtoH_v2(&got, count, sizeof(got)));
    if (got == want) return;
    fprintf(stderr, "load_bench: %u threads counted, %u ran\n", got, want);
    exit(1);
}

/* Steps that ended before `end`, started in `width` streams in turn; waits for the oldest. */
static uint32_t run(unsigned int width, uint64_t end) {
    uint32_t steps = 0;
    uint64_t begun[STREAMS];
    for (unsigned int i = 0; steps < STEPS_MAX; i++) {
        begun[i % width] = fdutil_now_ns();
        launch_step(streams[i % width]);
        GPU(cuEventRecord(step_end[i % width], streams[i % width]));
        if (i + 1 < width) continue;
        unsigned int oldest = (i + 1) % width;
        GPU(cuEventSynchronize(step_end[oldest]));
        uint64_t now = fdutil_now_ns();
        if (now >= end) break;
        latency_us[steps++] = (uint32_t)((now - begun[oldest]) / 1000);
    }
    return steps;
}

int main(int argc, char **argv) {
    if (argc == 2 && !strcmp(argv[1], "turn")) {
        turns = 1000;
        prepare();
        find_turns();
        return 0;
    }
    if (argc != 5) return 2;
    turns = (uint32_t)strtoul(argv[2], NULL, 10);
    uint64_t start = strtoull(argv[3], NULL, 10);
    double seconds = atof(argv[4]);
    prepare();
    uint64_t now = fdutil_now_ns();
    bool late = now > start;
    if (late) start = now;
    struct timespec at = {(time_t)(start / 1000000000), (long)(start % 1000000000)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL)) {
    }
    uint32_t steps = run(strcmp(argv[1], "full") ? 1 : STREAMS, start + (uint64_t)(seconds * 1e9));
    GPU(cuCtxSynchronize());
    check_count();
    qsort(latency_us, steps, sizeof(latency_us[0]), by_value);
    printf("{\"steps\":%u,\"late\":%s,\"p50_us\":%u,\"p99_us\":%u,\"max_us\":%u}\n", steps,
           late ? "true" : "false", latency_us[steps / 2], latency_us[(uint64_t)steps * 99 / 100],
           steps ? latency_us[steps - 1] : 0);
    return 0;
}
