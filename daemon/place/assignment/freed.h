/* SPDX-License-Identifier: Apache-2.0
 *
 * Nodes with more free resources than when all waiting jobs were tried last. A job that found no
 * place then, and that none of these nodes could give a task, finds none now: all other nodes have
 * no more than before.
 *
 * Owner: struct place. Thread: its owner's.
 */
#ifndef DAEMON_PLACE_ASSIGNMENT_FREED_H
#define DAEMON_PLACE_ASSIGNMENT_FREED_H

#include "daemon/place/state/place_state.h"

/* Records that this node has, or may have, more free resources. */
void freed_add(struct place *p, uint32_t node);
/* Called when a pass over all waiting jobs begins. */
void freed_begin(struct place *p);
/* False if the job found no place in the latest pass and cannot find one now. */
bool freed_may_help(const struct place *p, uint32_t job);

#endif
