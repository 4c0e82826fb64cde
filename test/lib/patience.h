/* SPDX-License-Identifier: Apache-2.0
 *
 * Waits of tests for other threads and processes. The limit is generous: only a hang reaches it.
 */
#ifndef TEST_LIB_PATIENCE_H
#define TEST_LIB_PATIENCE_H

#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

#include "common/fdutil.h"

/* A minute, or SALUS_TEST_PATIENCE seconds: a run that expects tests to fail sets a shorter
 * limit. */
int patience_ms(void);

/* True if the condition becomes true in time. It is checked once more at the end, because this
 * process itself may have been stopped. */
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
