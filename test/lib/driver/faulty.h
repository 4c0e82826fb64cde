/* SPDX-License-Identifier: Apache-2.0
 *
 * A driver that stands in front of another one and makes it fail: the n-th call of a kind returns
 * what the test chose, without having been made, or comes late. A result after which a context is
 * dead is the context's end: from then on every call says it. It has the calls of
 * daemon/device/cuda/driver/calls.def, whatever their arguments.
 *
 * The one behind it is $SALUS_FAULTY_DRIVER. A test in the same process has dlsym(library,
 * "faulty_control"); for others there is $SALUS_FAULTY, "cuMemCreate:3:2": the third call
 * returns 2.
 * "*" is any call, and every one; "+500" as result is a delay of 500 microseconds, "~500" one of up
 * to 500 at random. "^500", of launches, copies and words that are written, holds the stream for up
 * to 500 microseconds before what the call gives it, while the call returns at once: so streams
 * come to their ends in another order. Several are separated by commas; numbers at random begin
 * with $SALUS_FAULTY_SEED. With $SALUS_FAULTY_ONCE, the name of a file that is made then, results
 * are given once, whoever loads it later.
 *
 * Threads: any.
 */
#ifndef TEST_LIB_DRIVER_FAULTY_H
#define TEST_LIB_DRIVER_FAULTY_H

#include <stdbool.h>
#include <stdint.h>

struct faulty_rule {
    int call;          /* index in calls.def; -1: any */
    uint32_t nth;      /* from 1; 0: each */
    int result;        /* CUresult; 0: it is made */
    uint32_t delay_us; /* delay before the call; the longest one, if random */
    bool random;
    bool holds; /* the call's stream is delayed, not the call */
};

struct faulty_control {
    uint32_t call_count;
    const char *const *names;
    /* True if the call frees objects that other calls made. */
    bool (*gives_back)(uint32_t call);
    /* One rule, or none (NULL); the context lives again, and counts begin at 0. */
    void (*set)(const struct faulty_rule *rule);
    uint32_t (*count)(uint32_t call);
    /* The number of calls that it made fail, without the calls after a context's end. */
    uint32_t (*fired)(void);
};

extern const struct faulty_control faulty_control;

#endif
