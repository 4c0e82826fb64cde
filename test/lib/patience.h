/* SPDX-License-Identifier: Apache-2.0
 *
 * What another thread or process does comes when it comes: tests wait for it, and only what never
 * comes is given up.
 */
#ifndef TEST_LIB_PATIENCE_H
#define TEST_LIB_PATIENCE_H

#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

#include "common/fdutil.h"

/* A minute, or what SALUS_TEST_PATIENCE says, in seconds: who expects a test to fail does not want
 * to wait so long for it. */
int patience_ms(void);

/* Whether the condition comes to be true. It is looked at once more when time is up: it may have
 * been us who stood still. */
#define PATIENCE_UNTIL(condition)                                       \
    ({                                                                  \
        uint64_t end_ns = fdutil_now_ns() + patience_ms() * 1000000ull; \
        bool over, met;                                                 \
        do {                                                            \
            over = fdutil_now_ns() >= end_ns;                           \
            met = (condition);                                          \
        } while (!met && !over && !usleep(1000));                       \
        met;                                                            \
    })

#endif
