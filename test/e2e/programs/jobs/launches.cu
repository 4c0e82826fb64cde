/* SPDX-License-Identifier: Apache-2.0
 * Rounds of 1,000 launches between two markers that a system call tracer can see. A few hundred
 * nanoseconds of work are between launches, as in any program: without it the ring fills, and a
 * client that finds the ring full has to wait. */
#include <unistd.h>

#include "common.h"

__global__ void nothing(int a, int b, int c, int d, int e, int f, int g, int *h) {}

static volatile unsigned work;

static void compute(void) {
    for (int i = 0; i < 300; i++)
        work = work * 3 + 1;
}

static void mark(const char *text, size_t bytes) {
    if (write(2, text, bytes) < 0) exit(1);
}

int main(void) {
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < 20; i++) /* the worker is awake */
            nothing<<<1, 1>>>(1, 2, 3, 4, 5, 6, 7, NULL);
        mark("begin launches\n", 15);
        for (int i = 0; i < 1000; i++) {
            nothing<<<1, 1>>>(1, 2, 3, 4, 5, 6, 7, NULL);
            compute();
        }
        mark("end launches\n", 13);
        CHECK(cudaDeviceSynchronize());
    }
    return 0;
}
