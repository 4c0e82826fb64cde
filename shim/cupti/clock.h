/* SPDX-License-Identifier: Apache-2.0
 *
 * Times of records, by the program's own clock if it gave one, else in nanoseconds of
 * CLOCK_REALTIME. Any thread.
 */
#ifndef SHIM_CUPTI_CLOCK_H
#define SHIM_CUPTI_CLOCK_H

#include "shim/cupti/cupti.h"

/* Sets the clock; NULL: CLOCK_REALTIME. */
void clock_choose(cupti_clock clock);
/* Reads the chosen clock. */
uint64_t clock_now(void);

/* Called when tracing begins: relates times to the chosen clock from here on. */
void clock_mark(void);
/* Converts a time of CLOCK_MONOTONIC to the chosen clock. With CLOCK_REALTIME the order of times is
 * preserved; with the program's clock up to the error of reading both clocks at once. */
uint64_t clock_convert(uint64_t mono_ns);

/* A straight line from one clock to another, through two moments at which both were read. */
struct clock_line {
    uint64_t mono[2], theirs[2];
};

uint64_t clock_on_line(const struct clock_line *line, uint64_t mono_ns);

#endif
