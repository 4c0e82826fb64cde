/* SPDX-License-Identifier: Apache-2.0
 *
 * Decides whether a job that ended for lack of memory is queued again, and with how much memory.
 * place.h does this itself where it starts jobs; here the queue is Slurm's. Pure.
 *
 * Owner: the caller. Threads: any.
 */
#ifndef DAEMON_PLACE_SLURM_PLACER_MEMORY_RETRY_H
#define DAEMON_PLACE_SLURM_PLACER_MEMORY_RETRY_H

#include "daemon/place/slurm/placer/world.h"

#define MEMORY_RETRY_TIMES_MOST 3 /* largest number of times that a job is queued again */

enum again {
    MEMORY_RETRY_YES,
    MEMORY_RETRY_KNOWN,     /* the note already has this failure */
    MEMORY_RETRY_TOO_OFTEN, /* queued again so often that more memory does not seem to help */
    MEMORY_RETRY_TOO_LARGE  /* no GPU is large enough */
};

/* MEMORY_RETRY_YES: `next` is the job's note without a node, with 5/4 of the needed memory but at
 * most that of the largest GPU. For other results `next` is undefined. */
enum again memory_retry_judge(const struct world *w, const struct world_lack *lack,
                              struct note *next);

#endif
