/* SPDX-License-Identifier: Apache-2.0
 * Queues iterations ahead, each stamped with the device's time at its begin and end. Two of these
 * programs in one lane show how long the device is idle between their iterations. Starts at
 * SIGUSR1.
 *
 *   turns [ITERATIONS [KERNELS an iteration [KiB each works on]]] */
#include <inttypes.h>
#include <signal.h>

#include "scripts/device-probes/programs/work.h"

enum { AHEAD = 8 };
static int iterations = 2000, kernels = 4, kib = 4096;

/* Waits, at most 60 s, until the parent signals that all programs are ready. */
static void wait_for_begin(sigset_t *set) {
    struct timespec limit = {60, 0};
    work_say("ready %d", iterations);
    sigtimedwait(set, NULL, &limit);
}

int main(int argc, char **argv) {
    CUevent done[AHEAD];
    CUstream s;
    CUdeviceptr stamps;
    probe_begin("turns", "When does each iteration begin and end on the device?");
    work_arguments(argc, argv, (int *[]){&iterations, &kernels, &kib}, 3);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, NULL);
    probe_driver_open();
    CUmodule m = probe_work();
    CUfunction stir = probe_function(m, "stir"), stamp = probe_function(m, "stamp");
    size_t words = (size_t)kib << 8, bytes = (size_t)iterations * 16;
    CUdeviceptr model = work_filled(m, words, 31);
    TRY(cu.cuMemAlloc_v2(&stamps, bytes));
    TRY(cu.cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    for (int i = 0; i < AHEAD; i++)
        TRY(cu.cuEventCreate(&done[i], CU_EVENT_DISABLE_TIMING));
    wait_for_begin(&set);
    for (int i = 0; i < iterations; i++) {
        if (i >= AHEAD) TRY(cu.cuEventSynchronize(done[i % AHEAD]));
        LAUNCH(stamp, 1, 1, s, stamps + 16 * (size_t)i);
        for (int k = 0; k < kernels; k++)
            LAUNCH(stir, work_blocks(), 256, s, model, words, 4, (uint64_t)i + k);
        LAUNCH(stamp, 1, 1, s, stamps + 16 * (size_t)i + 8);
        TRY(cu.cuEventRecord(done[i % AHEAD], s));
        work_step();
    }
    TRY(cu.cuStreamSynchronize(s));
    uint64_t *host = malloc(bytes);
    TRY(cu.cuMemcpyDtoH_v2(host, stamps, bytes));
    for (int i = 0; i < iterations; i++)
        printf("stamp %" PRIu64 " %" PRIu64 "\n", host[2 * (size_t)i], host[2 * (size_t)i + 1]);
    free(host);
    return work_end(work_sum(m, model, words));
}
