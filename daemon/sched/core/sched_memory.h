/* SPDX-License-Identifier: Apache-2.0
 *
 * All memory that a scheduler's future depends on, block by block, so that it can be copied and put
 * back (record/checkpoint.h). Each part lists its own blocks once; a block comes after the one that
 * says how large it is.
 */
#ifndef DAEMON_SCHED_CORE_SCHED_MEMORY_H
#define DAEMON_SCHED_CORE_SCHED_MEMORY_H

#include "daemon/sched/visit.h"

struct sched;

/* Visits the scheduler itself first, by `*s`. While its blocks are put back one by one, nothing of
 * it may be used but what was put back. False: the walk was ended. */
bool sched_memory_walk(struct sched **s, memory_visit *visit, void *arg);

/* When all blocks are put back: pointers to what is not memory of its own. False: there are no such
 * policies. */
bool sched_memory_restored(struct sched *s);

#endif
