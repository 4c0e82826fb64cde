/* SPDX-License-Identifier: Apache-2.0
 *
 * All memory that a scheduler's future depends on, block by block, so that a checkpoint can copy
 * and restore it (record/checkpoint.h). Each part lists its own blocks once; a block follows the
 * one that contains its size.
 */
#ifndef DAEMON_SCHED_CORE_SCHED_MEMORY_H
#define DAEMON_SCHED_CORE_SCHED_MEMORY_H

#include "daemon/sched/visit.h"

struct sched;

/* Visits the scheduler itself first, by `*s`. During a restore only blocks that were already
 * restored may be read. Returns false when the visitor ended the walk. */
bool sched_memory_walk(struct sched **s, memory_visit *visit, void *arg);

/* Called when all blocks are restored: sets the pointers to memory that the scheduler does not own.
 * Returns false for unknown policies. */
bool sched_memory_restored(struct sched *s);

#endif
