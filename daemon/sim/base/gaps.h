/* SPDX-License-Identifier: Apache-2.0
 *
 * Times between arrivals as they were seen somewhere: a JSON list of numbers, seconds.
 *
 * Owner: the caller. Thread: any.
 */
#ifndef DAEMON_SIM_BASE_GAPS_H
#define DAEMON_SIM_BASE_GAPS_H

#include <stdint.h>
#include <stdio.h>

#define GAPS_MOST 1000000u

struct gaps {
    double *s; /* `count` */
    uint32_t count;
};

/* 0; -EINVAL: it is no such list, `count` says from which number on; -ENOMEM. */
int gaps_read(struct gaps *g, FILE *f);
void gaps_finish(struct gaps *g);

#endif
