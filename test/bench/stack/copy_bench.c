/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies between host and device, compared with a memcpy of the same size by the calling thread, in
 * turn, so that both see the same machine. The ratio is memcpy's time divided by the copy's: 1 is
 * as fast. Every byte that went to the device and back is compared.
 *
 *   copy_bench [rounds]
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "common/fdutil.h"
#include "test/bench/lib/gpu.h"

#define BYTES_MAX (64ull << 20)
#define ROUNDS_MAX 200

static unsigned char *source, *target, *pinned;
static CUdeviceptr device;

static void pageable_up(size_t bytes) {
    GPU(cuMemcpyHtoD_v2(device, source, bytes));
    GPU(cuStreamSynchronize(NULL)); /* an upload may return before the device has it all */
}
static void pageable_down(size_t bytes) {
    GPU(cuMemcpyDtoH_v2(target, device, bytes));
}
static void pinned_up(size_t bytes) {
    GPU(cuMemcpyHtoD_v2(device, pinned, bytes));
}
static void pinned_down(size_t bytes) {
    GPU(cuMemcpyDtoH_v2(pinned, device, bytes));
}

static const struct direction {
    const char *name;
    void (*copy)(size_t bytes);
    double goal;
} directions[] = {{"pageable to device", pageable_up, 0.9},
                  {"device to pageable", pageable_down, 0.9},
                  {"pinned to device", pinned_up, 0.98},
                  {"device to pinned", pinned_down, 0.98}};

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void compare(const struct direction *d, const unsigned char *got, size_t bytes) {
    if (!memcmp(got, source, bytes)) return;
    fprintf(stderr, "copy_bench: %s: wrong bytes\n", d->name);
    exit(1);
}

/* Only copies too large for a cache have a goal; small ones are shown. */
static void measure(const struct direction *d, size_t bytes, int rounds, bool judged) {
    static double ratio[ROUNDS_MAX], ours[ROUNDS_MAX], plain[ROUNDS_MAX];
    for (int r = -2; r < rounds; r++) {
        uint64_t t0 = fdutil_now_ns();
        memcpy(target, source, bytes);
        uint64_t t1 = fdutil_now_ns();
        d->copy(bytes);
        uint64_t t2 = fdutil_now_ns();
        if (r < 0) continue;
        plain[r] = (double)(t1 - t0);
        ours[r] = (double)(t2 - t1);
        ratio[r] = plain[r] / ours[r];
    }
    memset(target, 0, bytes);
    GPU(cuMemcpyDtoH_v2(target, device, bytes));
    compare(d, target, bytes);
    qsort(ratio, (size_t)rounds, sizeof(ratio[0]), by_value);
    qsort(ours, (size_t)rounds, sizeof(ours[0]), by_value);
    qsort(plain, (size_t)rounds, sizeof(plain[0]), by_value);
    double middle = ratio[rounds / 2];
    printf("{\"bench\":\"copy\",\"what\":\"%s, %zu KiB\",\"samples\":%d,\"value\":%.2f,"
           "\"unit\":\"GB/s\",\"memcpy\":%.2f,\"ratio\":%.3f,\"ratio_p10\":%.3f,"
           "\"ratio_p90\":%.3f,\"goal\":%g,\"goal_unit\":\"at least, of memcpy\","
           "\"verdict\":\"%s\"}\n",
           d->name, bytes >> 10, rounds, (double)bytes / ours[rounds / 2],
           (double)bytes / plain[rounds / 2], middle, ratio[rounds / 10], ratio[rounds * 9 / 10],
           judged ? d->goal : 0, !judged ? "-" : (middle >= d->goal ? "met" : "missed"));
    fflush(stdout);
}

static unsigned char *populated(size_t bytes) {
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE,
                    -1, 0);
    if (at == MAP_FAILED) exit(2);
    return at;
}

int main(int argc, char **argv) {
    static const size_t sizes[] = {64u << 10, 1u << 20, 16u << 20, BYTES_MAX};
    int rounds = argc > 1 ? atoi(argv[1]) : 21;
    if (rounds < 1 || rounds > ROUNDS_MAX) return 2;
    struct gpu gpu;
    gpu_start(&gpu);
    source = populated(BYTES_MAX);
    target = populated(BYTES_MAX);
    for (size_t i = 0; i < BYTES_MAX / 4; i++)
        ((uint32_t *)source)[i] = (uint32_t)i * 2654435761u;
    GPU(cuMemHostAlloc((void **)&pinned, BYTES_MAX, 0));
    memcpy(pinned, source, BYTES_MAX);
    GPU(cuMemAlloc_v2(&device, BYTES_MAX));
    pageable_up(BYTES_MAX);
    for (size_t i = 0; i < sizeof(directions) / sizeof(directions[0]); i++)
        for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++)
            measure(&directions[i], sizes[s], rounds, sizes[s] >= 16u << 20);
    return 0;
}
