/* SPDX-License-Identifier: Apache-2.0
 *
 * Replays a recording (notation.h) through the scheduler's own step: the same events must give the
 * same actions, line by line.
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
    REPLAY_DAMAGED, /* the recording is malformed or incomplete: `why` */
    REPLAY_BUILD,   /* the checkpoint is another build's: `why` */
    REPLAY_FAILED,  /* out of memory: `why` */
};

struct replay {
    bool any_build; /* restore a checkpoint of another build as well */
    uint64_t line;  /* line reached, from 1 */
    uint64_t steps, events, actions;
    bool within; /* the recording ended within a step, which was taken as well */
    char why[REPLAY_WHY_BYTES];
};

/* All members of `r` but any_build are zero. */
enum replay_how replay_run(struct replay *r, FILE *in, FILE *out);

#endif
