/* SPDX-License-Identifier: Apache-2.0
 * A program bound by the device: few long kernels, of which one computes and one streams memory.
 *
 *   compute [ITERATIONS [MiB [ROUNDS within a kernel]]] */
#include "scripts/device-probes/programs/work.h"

static int iterations = 20, mib = 512, rounds = 400;

int main(int argc, char **argv) {
    probe_begin("compute", "How long does an iteration take that is bound by the device?");
    work_arguments(argc, argv, (int *[]){&iterations, &mib, &rounds}, 3);
    double *us = calloc(iterations, sizeof(*us));
    probe_driver_open();
    CUmodule m = probe_work();
    CUfunction stir = probe_function(m, "stir");
    CUstream s;
    TRY(cu.cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    size_t words = (size_t)mib << 18;
    CUdeviceptr data = work_filled(m, words, 7);
    unsigned blocks = work_blocks();
    for (int i = -1; i < iterations; i++) { /* the first one is not counted */
        uint64_t begin = probe_now_ns();
        LAUNCH(stir, blocks, 256, s, data, words, (uint64_t)rounds, (uint64_t)i + 1);
        for (int k = 0; k < 4; k++)
            LAUNCH(stir, blocks, 256, s, data, words, 1, (uint64_t)k);
        TRY(cu.cuStreamSynchronize(s));
        if (i >= 0) us[i] = (probe_now_ns() - begin) / 1e3;
        work_step();
    }
    probe_spread(us, iterations, "us/iteration", "iteration");
    free(us);
    return work_end(work_sum(m, data, words));
}
