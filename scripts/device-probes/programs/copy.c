/* SPDX-License-Identifier: Apache-2.0
 * A program bound by copies of pinned and of pageable memory to the device and back.
 *
 *   copy [MiB [ROUNDS]] */
#include "scripts/device-probes/programs/work.h"

static int mib = 256, rounds = 8;
static size_t bytes;
static CUdeviceptr data;

/* Measures GB/s to the device and back, the best of the rounds; the same contents go round. */
static void both_ways(void *host, const char *kind, double *there_us, double *back_us) {
    for (int r = 0; r < rounds; r++) {
        uint64_t begin = probe_now_ns();
        TRY(cu.cuMemcpyHtoD_v2(data, host, bytes));
        TRY(cu.cuCtxSynchronize());
        there_us[r] = (probe_now_ns() - begin) / 1e3;
        memset(host, 0, 4096);
        begin = probe_now_ns();
        TRY(cu.cuMemcpyDtoH_v2(host, data, bytes));
        back_us[r] = (probe_now_ns() - begin) / 1e3;
        work_step();
    }
    char name[48];
    snprintf(name, sizeof(name), "%s_to_the_device", kind);
    probe_spread(there_us, rounds, "us", name);
    snprintf(name, sizeof(name), "%s_from_the_device", kind);
    probe_spread(back_us, rounds, "us", name);
    probe_figure(bytes / there_us[0] / 1e3, "GB/s", "%s_to_the_device_rate", kind);
    probe_figure(bytes / back_us[0] / 1e3, "GB/s", "%s_from_the_device_rate", kind);
}

int main(int argc, char **argv) {
    void *pinned;
    probe_begin("copy", "How long does a copy take?");
    work_arguments(argc, argv, (int *[]){&mib, &rounds}, 2);
    bytes = (size_t)mib << 20;
    double *there = calloc(rounds, sizeof(*there)), *back = calloc(rounds, sizeof(*back));
    char *pageable = malloc(bytes);
    for (size_t i = 0; i < bytes / 4; i++)
        ((uint32_t *)pageable)[i] = (uint32_t)i * 2654435761u;
    probe_driver_open();
    CUmodule m = probe_work();
    TRY(cu.cuMemAlloc_v2(&data, bytes));
    TRY(cu.cuMemAllocHost_v2(&pinned, bytes));
    memcpy(pinned, pageable, bytes);
    both_ways(pinned, "pinned", there, back);
    uint64_t sum = work_sum(m, data, bytes / 4);
    both_ways(pageable, "pageable", there, back);
    sum = sum * 31 + work_sum(m, data, bytes / 4) + (memcmp(pinned, pageable, bytes) != 0);
    free(there);
    free(back);
    free(pageable);
    return work_end(sum);
}
