/* SPDX-License-Identifier: Apache-2.0
 *
 * Recorded times between arrivals: a JSON list of numbers in seconds.
 *
 * Owner: the caller. Thread: any.
 */
#ifndef DAEMON_SIM_BASE_GAPS_H
#define DAEMON_SIM_BASE_GAPS_H

#include <stdint.h>
#include <stdio.h>

#define GAPS_MOST 1000000u

struct gaps {
    double *s; /* `count` entries */
    uint32_t count;
};

/* Returns 0, -ENOMEM, or -EINVAL for an invalid list; `count` is then the number of valid entries
 * before the error. */
int gaps_read(struct gaps *g, FILE *f);
void gaps_finish(struct gaps *g);

#endif
