/* SPDX-License-Identifier: Apache-2.0
 *
 * A known iteration: its launches, and the job's place in it. Part of the detector (iteration.h);
 * pure, no allocation.
 *
 * Each launch is compared with the expected one. Where they differ:
 *
 *   - One launch more, less, or different (a log line, another learning rate) does no harm.
 *     The rest of the iteration is as expected, and the next boundary counts again after
 *     PATTERN_SURE expected launches.
 *   - More than PATTERN_ODD launches that fit nowhere (evaluation, saving) lose the place. It
 *     is found again where the first launch of an iteration appears, at the floor of live
 *     memory. From there on the iteration is compared without boundaries, and the next
 *     boundary counts.
 *
 * So only an iteration that was seen from beginning to end gives a boundary.
 *
 * Trust grows with each launch while boundaries count, up to PATTERN_TRUST iterations, and falls
 * with each other launch. At zero the pattern is dropped. It is also dropped when live memory falls
 * below the former floor anywhere but at the beginning of an iteration. A repetition within
 * something larger is soon found out that way.
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
#define PATTERN_TRUST_MIN 1024u /* launches; limits trust where it is more */

struct pattern {
    uint32_t period; /* 0: no pattern is known */
    uint32_t next;   /* the expected launch */
    uint32_t good;   /* expected launches in a row */
    uint32_t need;   /* expected launches needed until boundaries count again; 0: they count */
    uint32_t odd;    /* launches that fitted nowhere since boundaries last counted */
    uint64_t trust;
    bool flat;
    uint16_t floor, deep; /* as found by the search */
    uint16_t fingerprint[PERIOD_HISTORY];
};

/* Starts a pattern from the latest launches of `p`. True: the latest one begins an iteration. */
bool pattern_learn(struct pattern *q, const struct period *p, const struct period_found *found);
/* Compares a launch. True: an iteration begins with it. */
bool pattern_step(struct pattern *q, uint16_t fingerprint, uint16_t low);

/* The trust, in percent of the most that is possible. */
uint32_t pattern_percent(const struct pattern *q);
/* Makes the iteration begin with the expected launch from now on. */
void pattern_turn(struct pattern *q);

/* True when the job's place is known. */
static inline bool pattern_sure(const struct pattern *q) {
    return q->period && !q->need;
}

#endif
