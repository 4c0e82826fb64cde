/* SPDX-License-Identifier: Apache-2.0
 *
 * When the next worker is started: soon after one that served, with growing pauses while none gets
 * ready. Pure but for the clock and the log.
 */
#ifndef DAEMON_BROKER_LIFE_RESTART_H
#define DAEMON_BROKER_LIFE_RESTART_H

#include <stdbool.h>
#include <stdint.h>

#define RESTART_OFTEN 10    /* within a minute */
#define RESTART_DELAY_MS 20 /* after a worker that had been ready */

/* How the latest worker ended. */
enum restart_cause {
    RESTART_SERVED,  /* it had been ready */
    RESTART_FAILED,  /* it never was */
    RESTART_SHORTAGE /* we lacked descriptors or memory, whatever it did */
};

struct restart {
    uint64_t count;
    uint64_t failures;              /* starts in a row that never got ready */
    uint64_t recent[RESTART_OFTEN]; /* times of the latest, as a ring */
};

/* Counts it; returns how long to wait, in milliseconds. */
uint64_t restart_delay_ms(struct restart *r, enum restart_cause cause);

#endif
