/* SPDX-License-Identifier: Apache-2.0
 *
 * An iteration that is known: its launches, and where in it the job is. Part of the detector
 * (iteration.h); pure, no allocation.
 *
 * Each launch is compared with the one expected. Where they differ:
 *   - A launch more, less, or another one than usual (a log line, another learning rate) does no
 *     harm: the rest of the iteration is as expected, and the next boundary counts again after
 *     PATTERN_SURE launches that were.
 *   - More than PATTERN_ODD launches that fit nowhere (evaluation, saving) lose the place. It is
 *     found again where the first launch of an iteration appears, at the floor of live memory; the
 *     iteration from there on is compared in silence, and the next boundary counts.
 * So what was not seen from its beginning to its end gives no boundary.
 *
 * How far it is trusted grows with each launch that was as expected and falls with each that was
 * not, up to PATTERN_TRUST iterations; at zero it is given up, and as soon as live memory falls
 * below what was the floor, but where an iteration begins. A repetition within something larger is
 * soon found out that way.
 *
 * Owner: the iteration. Errors: none.
 */
#ifndef DAEMON_WORKER_ITERATION_PATTERN_H
#define DAEMON_WORKER_ITERATION_PATTERN_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/worker/iteration/period.h"

#define PATTERN_SURE 8u
#define PATTERN_ODD 4u
#define PATTERN_TRUST 16u       /* iterations */
#define PATTERN_TRUST_MIN 1024u /* launches, when these are more */

struct pattern {
    uint32_t period; /* 0: nothing is known */
    uint32_t next;   /* expected */
    uint32_t good;   /* launches in a row that were as expected */
    uint32_t need;   /* so many, until boundaries count again; 0: they do */
    uint32_t odd;    /* launches that fitted nowhere, since then */
    uint64_t trust;
    bool flat;
    uint16_t floor, deep; /* as found */
    uint16_t fingerprint[PERIOD_HISTORY];
};

/* What was found: the latest launches of `p`. True: the latest one begins an iteration. */
bool pattern_learn(struct pattern *q, const struct period *p, const struct period_found *found);
/* A launch. True: an iteration begins with it. */
bool pattern_step(struct pattern *q, uint16_t fingerprint, uint16_t low);

/* The trust that it has, of the most that it can have. */
uint32_t pattern_percent(const struct pattern *q);
/* The iteration begins with the expected launch from now on. */
void pattern_turn(struct pattern *q);

/* The job is where it is expected to be. */
static inline bool pattern_sure(const struct pattern *q) {
    return q->period && !q->need;
}

#endif
