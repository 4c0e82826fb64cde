/* SPDX-License-Identifier: Apache-2.0
 *
 * Nodes that have more to give than when all that waits was tried last. Whoever found no place then
 * and whom none of these could give a task finds none now: all others have no more than they had.
 *
 * Owner: struct place. Thread: its owner's.
 */
#ifndef DAEMON_PLACE_ASSIGNMENT_FREED_H
#define DAEMON_PLACE_ASSIGNMENT_FREED_H

#include "daemon/place/state/place_state.h"

/* This one has, or may have. */
void freed_add(struct place *p, uint32_t node);
/* A pass over all that wait begins. */
void freed_begin(struct place *p);
/* False: the job found no place in the latest pass, and finds none now. */
bool freed_may_help(const struct place *p, uint32_t job);

#endif
