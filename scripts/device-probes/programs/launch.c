/* SPDX-License-Identifier: Apache-2.0
 * A program bound by launches: short kernels with 8 parameters. It waits for each step, with and
 * without processor work between two launches.
 *
 *   launch [STEPS [LAUNCHES a step]] */
#include "scripts/device-probes/programs/work.h"

enum { ROUNDS = 5 };
static CUfunction nothing, stir;
static CUstream stream;
static CUdeviceptr data;
static int steps = 400, launches = 50;

static void busy_us(double us) {
    uint64_t end = probe_now_ns() + (uint64_t)(us * 1e3);
    while (probe_now_ns() < end)
        continue;
}

/* Returns the microseconds of a step: `launches` launches, with `cpu` microseconds of processor
 * work before each. */
static double step_us(double cpu, uint32_t seed) {
    uint64_t begin = probe_now_ns();
    for (int s = 0; s < steps; s++) {
        for (int i = 0; i < launches; i++) {
            if (cpu > 0) busy_us(cpu);
            if (i % 10 == 9)
                LAUNCH(stir, 1, 256, stream, data, 256, 1, seed + s);
            else
                LAUNCH(nothing, 1, 32, stream, 1, 2, 3, 4, 5, 6, 7, 8);
        }
        work_step();
        TRY(cu.cuStreamSynchronize(stream));
    }
    return (probe_now_ns() - begin) / 1e3 / steps;
}

/* Returns the nanoseconds to submit one launch, with one wait at the end. */
static double handing_in(void) {
    const int n = 500;
    double least = 1e30;
    for (int r = 0; r < 20; r++) {
        uint64_t begin = probe_now_ns();
        for (int i = 0; i < n; i++)
            LAUNCH(nothing, 1, 32, stream, 1, 2, 3, 4, 5, 6, 7, 8);
        double ns = (probe_now_ns() - begin) / (double)n;
        TRY(cu.cuStreamSynchronize(stream));
        if (ns < least) least = ns;
    }
    return least;
}

int main(int argc, char **argv) {
    double plain[ROUNDS], with_cpu[ROUNDS];
    probe_begin("launch", "How long does a step take that is bound by its launches?");
    work_arguments(argc, argv, (int *[]){&steps, &launches}, 2);
    probe_driver_open();
    CUmodule m = probe_work();
    nothing = probe_function(m, "nothing");
    stir = probe_function(m, "stir");
    TRY(cu.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    data = work_filled(m, 256, 3);
    handing_in();
    for (int r = 0; r < ROUNDS; r++) {
        plain[r] = step_us(0, 100 * r);
        with_cpu[r] = step_us(5, 100 * r + 50);
    }
    probe_spread(plain, ROUNDS, "us/step", "step");
    probe_spread(with_cpu, ROUNDS, "us/step", "step_with_5us_between");
    probe_figure(plain[0] * 1e3 / launches, "ns/launch", "launch_in_a_step");
    probe_figure(handing_in(), "ns/launch", "launch_handed_in");
    return work_end(work_sum(m, data, 256));
}
