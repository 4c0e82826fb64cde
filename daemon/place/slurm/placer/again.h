/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether a job that ended for want of memory is queued again, and with how much: what place.h does
 * by itself where it starts jobs. Here the queue is Slurm's. Pure.
 *
 * Owner: the caller. Threads: any.
 */
#ifndef DAEMON_PLACE_SLURM_PLACER_AGAIN_H
#define DAEMON_PLACE_SLURM_PLACER_AGAIN_H

#include "daemon/place/slurm/placer/world.h"

#define AGAIN_TIMES_MOST 3 /* in a job's life, whatever it needs then */

enum again {
    AGAIN_YES,
    AGAIN_KNOWN,     /* its note has this end already */
    AGAIN_TOO_OFTEN, /* so often that more memory does not seem to help */
    AGAIN_TOO_LARGE  /* no GPU has what it needs */
};

/* YES: `next` is its note with the memory that it needed and a quarter more, as far as there is a
 * GPU of so much, and without a node. Of the rest `next` is nothing. */
enum again again_judge(const struct world *w, const struct world_lack *lack, struct note *next);

#endif
