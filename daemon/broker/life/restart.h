/* SPDX-License-Identifier: Apache-2.0
 *
 * Decides when the next worker is started: soon after one that served, with growing pauses while
 * none becomes ready. Pure except for the clock and the log.
 */
#ifndef DAEMON_BROKER_LIFE_RESTART_H
#define DAEMON_BROKER_LIFE_RESTART_H

#include <stdbool.h>
#include <stdint.h>

#define RESTART_OFTEN 10    /* more restarts than this within a minute are delayed for longer */
#define RESTART_DELAY_MS 20 /* pause after a worker that had been ready */

/* How the latest worker ended. */
enum restart_cause {
    RESTART_SERVED,  /* the worker had been ready, or was getting its predecessor's jobs */
    RESTART_FAILED,  /* the worker never became ready */
    RESTART_SHORTAGE /* we lacked descriptors or memory */
};

struct restart {
    uint64_t count;
    uint64_t failures;              /* consecutive starts that never became ready */
    uint64_t recent[RESTART_OFTEN]; /* ring of the times of the latest restarts, in ns; 0: unused */
};

/* Counts a restart and returns the pause in milliseconds. */
uint64_t restart_delay_ms(struct restart *r, enum restart_cause cause);

#endif
