/* SPDX-License-Identifier: Apache-2.0
 * A service with a latency goal. Requests arrive at random, whether the last one is answered or
 * not; each is some tens of short kernels between two copies.
 *
 *   serve [REQUESTS [us between them in the mean [KERNELS a request [KiB each works on [SEED]]]]]
 */
#include <math.h>
#include <time.h>

#include "scripts/device-probes/programs/work.h"

static int requests = 1000, gap = 3000, kernels = 30, kib = 1024, seed = 1;

struct service {
    CUfunction stir, fold;
    CUstream stream;
    CUdeviceptr weights, answer;
    uint64_t *host;
    size_t words;
    unsigned blocks;
};

static void prepare(struct service *s, CUmodule m) {
    s->words = (size_t)kib << 8;
    s->blocks = (unsigned)(s->words / 1024 < 1 ? 1 : s->words / 1024);
    s->stir = probe_function(m, "stir");
    s->fold = probe_function(m, "fold");
    TRY(cu.cuStreamCreate(&s->stream, CU_STREAM_NON_BLOCKING));
    s->weights = work_filled(m, s->words, 21);
    s->answer = work_filled(m, 2, 0);
    TRY(cu.cuMemAllocHost_v2((void **)&s->host, 64));
}

static uint64_t serve(struct service *s, uint32_t request) {
    s->host[1] = request;
    TRY(cu.cuMemcpyHtoDAsync_v2(s->answer, &s->host[1], 8, s->stream));
    for (int k = 0; k < kernels; k++)
        LAUNCH(s->stir, s->blocks, 256, s->stream, s->weights, s->words, 4, request * 31 + k);
    LAUNCH(s->fold, s->blocks, 256, s->stream, s->answer, s->weights, s->words);
    TRY(cu.cuMemcpyDtoHAsync_v2(s->host, s->answer, 8, s->stream));
    TRY(cu.cuStreamSynchronize(s->stream));
    work_step();
    return s->host[0];
}

static uint32_t next_random(uint32_t *state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static void sleep_until(uint64_t ns) {
    while (probe_now_ns() + 80000 < ns) { /* spins for the last part: waking from sleep comes
                                           * late */
        uint64_t left = ns - probe_now_ns() - 60000;
        struct timespec t = {(time_t)(left / 1000000000u), (long)(left % 1000000000u)};
        nanosleep(&t, NULL);
    }
    while (probe_now_ns() < ns)
        continue;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv) {
    struct service s;
    uint32_t state;
    uint64_t sum = 0;
    double total = 0;
    probe_begin("serve", "How long do requests take?");
    work_arguments(argc, argv, (int *[]){&requests, &gap, &kernels, &kib, &seed}, 5);
    state = (uint32_t)seed;
    double *us = calloc(requests, sizeof(*us));
    probe_driver_open();
    prepare(&s, probe_work());
    for (int i = 0; i < 20; i++)
        sum = sum * 31 + serve(&s, i);
    work_say("ready %d", 20);
    uint64_t arrival = probe_now_ns();
    for (int i = 0; i < requests; i++) {
        arrival += (uint64_t)(-1e3 * gap * log((next_random(&state) + 1.0) / 16777216.0));
        sleep_until(arrival);
        sum = sum * 31 + serve(&s, 20 + i);
        us[i] = (probe_now_ns() - arrival) / 1e3;
        total += us[i];
    }
    qsort(us, requests, sizeof(*us), ascending);
    probe_figure(us[0], "us", "least");
    probe_figure(us[requests / 2], "us", "p50");
    probe_figure(us[(requests * 90 + 99) / 100 - 1], "us", "p90");
    probe_figure(us[(requests * 99 + 99) / 100 - 1], "us", "p99");
    probe_figure(total / requests, "us", "mean");
    free(us);
    return work_end(sum);
}
