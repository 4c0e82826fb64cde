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

/* Tracing begins: times are related to the chosen clock from here on. */
void clock_mark(void);
/* A time of CLOCK_MONOTONIC by the chosen clock. Later times have later or the same ones by
 * CLOCK_REALTIME; by a clock of the program's, but for the error of reading both at once. */
uint64_t clock_convert(uint64_t mono_ns);

/* A straight line from one clock to another, through two moments at which both were read. */
struct clock_line {
    uint64_t mono[2], theirs[2];
};

uint64_t clock_on_line(const struct clock_line *line, uint64_t mono_ns);

#endif
