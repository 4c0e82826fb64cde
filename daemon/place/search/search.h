/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the GPUs of a job: those that fit, in ascending order of cost, from the index; branches
 * that cannot contain one are skipped.
 *
 * A task is assigned to a node as soon as enough of its GPUs were found and the node has CPU and
 * memory for the task. With one GPU per task these are the cheapest of all (Algorithm 1, lines 14
 * to 16). A task of several GPUs waits for its slowest one, so it goes where its most expensive GPU
 * is cheapest. Where the cheapest GPUs are the fullest, nodes with enough GPUs are searched
 * directly (search_host.c).
 *
 * Owner: struct place. Thread: its owner's.
 */
#ifndef DAEMON_PLACE_SEARCH_SEARCH_H
#define DAEMON_PLACE_SEARCH_SEARCH_H

#include "daemon/place/state/place_state.h"

void search_finish(struct state_search *s);
/* Reserves memory for this many GPUs and nodes. Returns 0 or -ENOMEM. */
int search_reserve(struct state_search *s, uint64_t gpus, uint64_t nodes);

/* Tests whether all tasks of a waiting job fit. If so, p->search.found has its GPUs, task by
 * task. */
bool search_run(struct place *p, uint32_t job);

#endif
