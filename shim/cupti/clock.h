/* SPDX-License-Identifier: Apache-2.0
 *
 * Times of records: those of the program's own clock where it gave one, else nanoseconds of
 * CLOCK_REALTIME. Any thread.
 */
#ifndef SHIM_CUPTI_CLOCK_H
#define SHIM_CUPTI_CLOCK_H

#include "shim/cupti/cupti.h"

/* NULL: CLOCK_REALTIME. */
void clock_choose(cupti_clock clock);
/* The chosen clock, now. */
uint64_t clock_now(void);

/* A straight line from CLOCK_MONOTONIC to the chosen clock, through two moments at which both were
 * read. */
struct clock_line {
    uint64_t mono[2], theirs[2];
};

/* The first moment. */
void clock_mark(void);
/* Through that moment and now. */
struct clock_line clock_line(void);
uint64_t clock_convert(const struct clock_line *line, uint64_t mono_ns);

#endif
