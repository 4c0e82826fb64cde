/* SPDX-License-Identifier: Apache-2.0
 *
 * The device's time: nanoseconds for %globaltimer, and ticks for %clock. Ticks pass at the clock
 * rate that programs read, so that a wait for a number of ticks is as long as intended. On a
 * deterministic device a client's time is a count of its instructions, at the approximate speed of
 * one thread.
 */
#ifndef DAEMON_DEVICE_SOFT_LAUNCH_CLOCK_H
#define DAEMON_DEVICE_SOFT_LAUNCH_CLOCK_H

#include <stdint.h>
#include <time.h>

#define CLOCK_KHZ 1980000u

#define CLOCK_INST_NS 5u
#define CLOCK_FIRST_NS 1000000000ull /* programs never read a time of 0 */

/* A client's own counts. Owner: its space. Thread: the one that runs its kernels at the time. */
struct clock_counts {
    uint64_t insts;    /* warp-instructions of all its kernels so far */
    uint64_t launches; /* grids so far */
};

static inline uint64_t clock_counted_ns(uint64_t insts) {
    return CLOCK_FIRST_NS + insts * CLOCK_INST_NS;
}

static inline uint64_t clock_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

static inline uint64_t clock_ticks(uint64_t ns) {
    return ns * (CLOCK_KHZ / 20000) / 50;
}

#endif
