/* SPDX-License-Identifier: Apache-2.0
 *
 * A driver in front of another one that injects faults: the n-th call of a kind is not made and
 * returns an error that the test chose, or is delayed. After a result that is fatal to a context,
 * every later call returns it.
 *
 * The library exports the calls of daemon/device/cuda/driver/calls.def, whatever their arguments.
 * $SALUS_FAULTY_DRIVER names the driver behind it. A test in the same process uses dlsym(library,
 * "faulty_control"). Other processes set $SALUS_FAULTY, such as "cuMemCreate:3:2": the third call
 * returns 2.
 *
 * "*" as name is any call, as number every call. As result, "+500" is a delay of 500 microseconds
 * and "~500" a random delay of up to 500. "^500", for launches, copies and written values, stalls
 * the stream for up to 500 microseconds before the call's work, while the call returns at once: so
 * streams complete in another order.
 *
 * Commas separate several rules; $SALUS_FAULTY_SEED is the seed. With $SALUS_FAULTY_ONCE, the name
 * of a file, only the first process that creates the file applies the rules. Threads: any.
 */
#ifndef TEST_LIB_DRIVER_FAULTY_H
#define TEST_LIB_DRIVER_FAULTY_H

#include <stdbool.h>
#include <stdint.h>

struct faulty_rule {
    int call;          /* index in calls.def; -1: any call */
    uint32_t nth;      /* from 1; 0: every call */
    int result;        /* CUresult to return; 0: the call is made */
    uint32_t delay_us; /* delay before the call; the longest delay, if random */
    bool random;
    bool holds; /* the call's stream is delayed, not the call */
};

struct faulty_control {
    uint32_t call_count;
    const char *const *names;
    /* True if the call frees objects that other calls made. */
    bool (*gives_back)(uint32_t call);
    /* Sets one rule, or none (NULL); revives the context and resets counts to 0. */
    void (*set)(const struct faulty_rule *rule);
    /* The number of calls with this index in calls.def since the rule was set. */
    uint32_t (*count)(uint32_t call);
    /* The number of calls that were made to fail, not counting calls after a context's end. */
    uint32_t (*fired)(void);
};

extern const struct faulty_control faulty_control;

#endif
