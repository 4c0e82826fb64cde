/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds nodes for tasks of several GPUs when the cheapest GPUs are the fullest.
 *
 * Owner: struct place. Thread: its owner's.
 */
#ifndef DAEMON_PLACE_SEARCH_SEARCH_HOST_H
#define DAEMON_PLACE_SEARCH_SEARCH_HOST_H

#include "daemon/place/state/place_state.h"

/* Returns the number of tasks that found GPUs. */
uint32_t search_hosts(struct place *p, uint32_t job);

#endif
