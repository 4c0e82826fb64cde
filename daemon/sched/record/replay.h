/* SPDX-License-Identifier: Apache-2.0
 *
 * A recording (notation.h) through the scheduler's own step: the same events must give the same
 * actions, line by line.
 */
#ifndef DAEMON_SCHED_RECORD_REPLAY_H
#define DAEMON_SCHED_RECORD_REPLAY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define REPLAY_WHY_BYTES 256

enum replay_how {
    REPLAY_SAME,
    REPLAY_DIFFERS, /* the first difference was printed, with the lines before it */
    REPLAY_DAMAGED, /* it is no recording, or not a whole one: `why` */
    REPLAY_BUILD,   /* its checkpoint is another build's: `why` */
    REPLAY_FAILED,  /* no memory: `why` */
};

struct replay {
    bool any_build; /* put the checkpoint of another build back all the same */
    uint64_t line;  /* reached, from 1 */
    uint64_t steps, events, actions;
    bool within; /* it ended within a step, which was run as well */
    char why[REPLAY_WHY_BYTES];
};

/* `r` is zeroed but for any_build. */
enum replay_how replay_run(struct replay *r, FILE *in, FILE *out);

#endif
