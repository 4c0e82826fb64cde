/* SPDX-License-Identifier: Apache-2.0
 *
 * Selects the GPUs of one task: tests which fit and assigns them.
 *
 * Owner: struct place. Thread: its owner's.
 */
#ifndef DAEMON_PLACE_SEARCH_SEARCH_TASK_H
#define DAEMON_PLACE_SEARCH_SEARCH_TASK_H

#include "daemon/place/state/place_state.h"

/* True if a GPU can take the job, ignoring its node. */
bool search_fits(const struct place *p, const struct job *job, const struct gpu *gpu);
/* Assigns the node's marked GPUs (`met`) to the job's task number `tasks`, from 0. */
void search_take_task(struct place *p, uint32_t node, uint32_t tasks);

#endif
