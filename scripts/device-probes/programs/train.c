/* SPDX-License-Identifier: Apache-2.0
 * A training job: iterations of several kernels over a model, a batch copied in, a loss copied out.
 * Runs until SIGTERM, or for SECONDS. At SIGUSR1 it prints its progress, so that two signals
 * delimit a window of time.
 *
 *   train [SECONDS [KERNELS an iteration [KiB each works on [ROUNDS within a kernel]]]] */
#include <signal.h>

#include "scripts/device-probes/programs/work.h"

enum { FIXED = 20 }; /* iterations after which the checksum is taken */
static int seconds = 600, kernels = 40, kib = 65536, rounds = 4;
static volatile sig_atomic_t stop, tell;

static void on_signal(int which) {
    if (which == SIGTERM)
        stop = 1;
    else
        tell++;
}

struct training {
    CUfunction stir, fold, fill;
    CUstream stream;
    CUdeviceptr model, batch, loss;
    uint32_t *host_batch;
    uint64_t *host_loss;
    size_t words;
    unsigned blocks;
};

/* Starts again from the beginning in the same memory. */
static void reset(struct training *t) {
    LAUNCH(t->fill, 64, 256, t->stream, t->model, t->words, 11);
    LAUNCH(t->fill, 64, 256, t->stream, t->batch, 16384, 12);
    LAUNCH(t->fill, 1, 32, t->stream, t->loss, 2, 0);
    TRY(cu.cuStreamSynchronize(t->stream));
}

static void prepare(struct training *t, CUmodule m) {
    t->words = (size_t)kib << 8;
    t->blocks = work_blocks();
    t->stir = probe_function(m, "stir");
    t->fold = probe_function(m, "fold");
    t->fill = probe_function(m, "fill");
    TRY(cu.cuStreamCreate(&t->stream, CU_STREAM_NON_BLOCKING));
    TRY(cu.cuMemAlloc_v2(&t->model, t->words * 4));
    TRY(cu.cuMemAlloc_v2(&t->batch, 65536));
    TRY(cu.cuMemAlloc_v2(&t->loss, 8));
    reset(t);
    TRY(cu.cuMemAllocHost_v2((void **)&t->host_batch, 65536));
    TRY(cu.cuMemAllocHost_v2((void **)&t->host_loss, 8));
}

static void iterate(struct training *t, uint32_t number) {
    for (int i = 0; i < 16384; i += 64)
        t->host_batch[i] = number + i;
    TRY(cu.cuMemcpyHtoDAsync_v2(t->batch, t->host_batch, 65536, t->stream));
    LAUNCH(t->fold, 4, 256, t->stream, t->loss, t->batch, 16384);
    for (int k = 0; k < kernels; k++)
        LAUNCH(t->stir, t->blocks, 256, t->stream, t->model, t->words, (uint64_t)rounds,
               number + k);
    LAUNCH(t->fold, t->blocks, 256, t->stream, t->loss, t->model, t->words / 16);
    TRY(cu.cuMemcpyDtoHAsync_v2(t->host_loss, t->loss, 8, t->stream));
    TRY(cu.cuStreamSynchronize(t->stream));
    work_step();
}

/* Returns true when the first iterations, computed again, give the checksum of the first time. */
static bool same_again(struct training *t, uint64_t sum) {
    reset(t);
    for (uint32_t n = 0; n < FIXED; n++)
        iterate(t, n);
    return *t->host_loss == sum;
}

int main(int argc, char **argv) {
    struct training t;
    uint64_t sum = 0, n = 0;
    double least_us = 1e30;
    int told = 0;
    probe_begin("train", "How many iterations does a training job make?");
    work_arguments(argc, argv, (int *[]){&seconds, &kernels, &kib, &rounds}, 4);
    signal(SIGTERM, on_signal);
    signal(SIGUSR1, on_signal);
    probe_driver_open();
    prepare(&t, probe_work());
    uint64_t begin = probe_now_ns();
    while (n < FIXED || (!stop && probe_now_ns() - begin < (uint64_t)seconds * 1000000000u)) {
        uint64_t at = probe_now_ns();
        iterate(&t, (uint32_t)n++);
        double us = (probe_now_ns() - at) / 1e3;
        if (n > 3 && us < least_us) least_us = us;
        if (n == FIXED) {
            sum = *t.host_loss;
            work_say("ready %d", FIXED);
        }
        if (told != tell) {
            told++;
            work_say("window %llu %llu", (unsigned long long)n, (unsigned long long)probe_now_ns());
        }
    }
    probe_figure((double)n, "iterations", "iterations");
    probe_figure((probe_now_ns() - begin) / 1e9, "s", "seconds");
    probe_figure(n * 1e9 / (probe_now_ns() - begin), "1/s", "rate");
    probe_figure(least_us, "us/iteration", "iteration_min");
    if (!same_again(&t, sum))
        return probe_end(false, "failed: the first iterations once more gave something else");
    return work_end(sum);
}
