/* SPDX-License-Identifier: Apache-2.0
 * Checks whether a kernel in a high-priority stream starts before the waiting blocks of a
 * low-priority grid. */
#include "scripts/device-probes/probe.h"

enum { SAMPLES = 15 };
static CUfunction burn, nothing;
static CUdeviceptr out;
static unsigned rounds = 40000, grids = 40;

/* Measures the microseconds of a small kernel in `fast` behind a grid in `slow` that fills the
 * device many times over. */
static double behind(CUstream fast, CUstream slow, unsigned blocks, double *long_ms) {
    uint64_t begin = probe_now_ns();
    LAUNCH(burn, blocks, 256, slow, out, rounds);
    probe_sleep_ms(0.2);
    uint64_t asked = probe_now_ns();
    LAUNCH(nothing, 1, 32, fast);
    TRY(cu.cuStreamSynchronize(fast));
    double us = (probe_now_ns() - asked) / 1e3;
    TRY(cu.cuStreamSynchronize(slow));
    *long_ms = (probe_now_ns() - begin) / 1e6;
    return us;
}

int main(void) {
    int least, greatest, sms, dev = 0;
    CUstream high, low, also_low;
    double with[SAMPLES], without[SAMPLES], ms;
    probe_begin("priorities",
                "Do streams of high priority go before the blocks that wait of others?");
    probe_driver_open();
    TRY(cu.cuCtxGetStreamPriorityRange(&least, &greatest));
    TRY(cu.cuDeviceGetAttribute(&sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, dev));
    probe_figure(least, "level", "least");
    probe_figure(greatest, "level", "greatest");
    TRY(cu.cuStreamCreateWithPriority(&high, CU_STREAM_NON_BLOCKING, greatest));
    TRY(cu.cuStreamCreateWithPriority(&low, CU_STREAM_NON_BLOCKING, least));
    TRY(cu.cuStreamCreateWithPriority(&also_low, CU_STREAM_NON_BLOCKING, least));
    CUmodule m = probe_module();
    burn = probe_function(m, "burn");
    nothing = probe_function(m, "nothing");
    if (probe_small()) {
        rounds = 100;
        grids = 8;
    }
    unsigned blocks = sms * grids;
    TRY(cu.cuMemAlloc_v2(&out, (size_t)blocks * 256 * 4));
    behind(high, low, blocks, &ms);
    for (int i = 0; i < SAMPLES; i++) {
        with[i] = behind(high, low, blocks, &ms);
        without[i] = behind(also_low, low, blocks, &ms);
    }
    probe_figure(ms * 1e3, "us", "the_long_grid");
    probe_spread(with, SAMPLES, "us", "high_behind_low");
    probe_spread(without, SAMPLES, "us", "low_behind_low");
    return probe_end(
        true,
        "%d levels; %.0f us behind a long grid with priority, %.0f without, which takes %.0f us",
        least - greatest + 1, with[SAMPLES / 2], without[SAMPLES / 2], ms * 1e3);
}
