/* SPDX-License-Identifier: Apache-2.0
 *
 * The GPUs of one task: which can have it, and which it gets.
 *
 * Owner: struct place. Thread: its owner's.
 */
#ifndef DAEMON_PLACE_SEARCH_SEARCH_TASK_H
#define DAEMON_PLACE_SEARCH_SEARCH_TASK_H

#include "daemon/place/state/place_state.h"

/* True if a GPU can have the job, its node aside. */
bool search_fits(const struct place *p, const struct job *job, const struct gpu *gpu);
/* A task gets those of the node's GPUs that were met. */
void search_take_task(struct place *p, uint32_t node, uint32_t tasks);

#endif
