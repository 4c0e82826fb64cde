/* SPDX-License-Identifier: Apache-2.0
 *
 * Nodes for tasks of several GPUs, where the cheapest GPUs are the fullest.
 *
 * Owner: struct place. Thread: its owner's.
 */
#ifndef DAEMON_PLACE_SEARCH_SEARCH_HOST_H
#define DAEMON_PLACE_SEARCH_SEARCH_HOST_H

#include "daemon/place/state/place_state.h"

/* How many tasks were found. */
uint32_t search_hosts(struct place *p, uint32_t job);

#endif
