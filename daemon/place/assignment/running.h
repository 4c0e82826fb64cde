/* SPDX-License-Identifier: Apache-2.0
 *
 * Jobs go onto GPUs and leave them; nodes come, go, and are closed. Whatever changes of a GPU
 * changes here, so that the index knows it.
 *
 * Owner: struct place. Thread: its owner's.
 */
#ifndef DAEMON_PLACE_ASSIGNMENT_RUNNING_H
#define DAEMON_PLACE_ASSIGNMENT_RUNNING_H

#include "daemon/place/state/place_state.h"

/* It runs on these GPUs, as many as all its tasks have, task by task. */
void running_start(struct place *p, uint32_t job, const uint32_t *gpus);
/* It runs no more. In which state it is then is the caller's to say. */
void running_leave(struct place *p, uint32_t job);
/* It uses something else than was thought. */
void running_change(struct place *p, uint32_t job, const struct demand *d);
/* What it has on each of its GPUs, at the least, if it uses what the others leave. */
uint64_t running_room_bytes(const struct place *p, uint32_t job);

void running_add_node(struct place *p, const struct place_node *node);
/* Nobody may be on it. */
void running_remove_node(struct place *p, uint32_t node);
void running_shut(struct place *p, uint32_t node, bool shut);
/* For one job, or for everybody again (keep.h). */
void running_keep(struct place *p, uint32_t node, bool kept);

#endif
