/* SPDX-License-Identifier: Apache-2.0
 *
 * Places jobs on GPUs and removes them; adds, removes and closes nodes. Every change of a GPU
 * happens here, so that the index stays up to date.
 *
 * Owner: struct place. Thread: its owner's.
 */
#ifndef DAEMON_PLACE_ASSIGNMENT_PLACEMENT_H
#define DAEMON_PLACE_ASSIGNMENT_PLACEMENT_H

#include "daemon/place/state/place_state.h"

/* Starts the job on these GPUs, listed task by task; their number is that of all its tasks'
 * GPUs. */
void placement_start(struct place *p, uint32_t job, const uint32_t *gpus);
/* Removes the job from its GPUs. The caller then sets the job's state. */
void placement_leave(struct place *p, uint32_t job);
/* Changes the demand of a running job. */
void placement_change(struct place *p, uint32_t job, const struct demand *d);
/* The memory that the job has on a GPU if it uses all that the persistent memory of the other jobs
 * there leaves; the minimum over its GPUs. */
uint64_t placement_room_bytes(const struct place *p, uint32_t job);

void placement_add_node(struct place *p, const struct place_node *node);
/* No job may be on the node. */
void placement_remove_node(struct place *p, uint32_t node);
void placement_shut(struct place *p, uint32_t node, bool shut);
/* Reserves a node for one job, or opens it to all jobs again (node_reservation.h). */
void placement_keep(struct place *p, uint32_t node, bool kept);

#endif
