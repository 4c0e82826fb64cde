/* SPDX-License-Identifier: Apache-2.0
 *
 * The device's time: nanoseconds for %globaltimer, and ticks for %clock at the rate that programs
 * are told, so that one which waits for so many waits as long as it means to.
 */
#ifndef DAEMON_DEVICE_SOFT_EXEC_CLOCK_H
#define DAEMON_DEVICE_SOFT_EXEC_CLOCK_H

#include <stdint.h>
#include <time.h>

#define CLOCK_KHZ 1980000u

static inline uint64_t clock_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

static inline uint64_t clock_ticks(void) {
    return clock_ns() * (CLOCK_KHZ / 20000) / 50;
}

#endif
