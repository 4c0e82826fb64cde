/* SPDX-License-Identifier: Apache-2.0
 *
 * Which GPUs a job gets: those that fit in ascending order of cost, from the index, without a look
 * at those that cannot be among them. A task starts on a node as soon as so many of its GPUs were
 * met as the task wants and the node has CPU and memory for it; with one GPU a task these are the
 * cheapest of all (Algorithm 1, lines 14 to 16). A task of several waits for the slowest of them,
 * so that it goes where its dearest GPU is cheapest. Where the cheapest GPUs are the fullest, nodes
 * that have so many are looked for at once (search_host.c).
 *
 * Owner: struct place. Thread: its owner's.
 */
#ifndef DAEMON_PLACE_SEARCH_SEARCH_H
#define DAEMON_PLACE_SEARCH_SEARCH_H

#include "daemon/place/state/place_state.h"

void search_finish(struct state_search *s);
/* Room for so many GPUs and nodes. 0 or -ENOMEM. */
int search_reserve(struct state_search *s, uint64_t gpus, uint64_t nodes);

/* Whether the job, which waits, fits somewhere, all of it; then p->search.found has its GPUs, task
 * by task. */
bool search_run(struct place *p, uint32_t job);

#endif
