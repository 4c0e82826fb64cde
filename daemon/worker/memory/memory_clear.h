/* SPDX-License-Identifier: Apache-2.0
 *
 * A chunk of a lane remembers whose bytes are in it, and shows them to nobody else: a client whose
 * owner is another sees zeros. Chunks are zero when they are made.
 *
 * Owner, thread and errors: memory.h.
 */
#ifndef DAEMON_WORKER_MEMORY_MEMORY_CLEAR_H
#define DAEMON_WORKER_MEMORY_MEMORY_CLEAR_H

#include <stdbool.h>
#include <stdint.h>

struct memory;
struct memory_lane;

/* Of a chunk that holds bytes of several owners, since a copy failed: foreign to all. */
#define MEMORY_MIXED UINT64_MAX

/* Whose bytes the client writes: any number, but not MEMORY_MIXED; 0, as it begins: somebody's who
 * does not mind. Before it joins a lane. */
void memory_set_owner(struct memory *m, uint64_t owner);
/* The client has its lane's turn, until another one enters, and expects to use so many bytes of it.
 * While it is `unclear` it must not run: memory_clear goes on, by at most so many chunks. */
void memory_enter(struct memory *m, uint64_t bytes);
int memory_clear(struct memory *m, uint32_t most);
bool memory_unclear(const struct memory *m);
uint64_t memory_cleared(const struct memory *m);              /* bytes, so far, for this client */
uint64_t memory_lane_cleared(const struct memory_lane *lane); /* so far */

/* Another client's bytes come into the lane: who had the turn has it no longer. */
void memory_clear_leave(struct memory *m);
/* Before the client shows the lane's chunk of this slot: when it has the turn, it is its own then.
 */
int memory_clear_slot(struct memory *m, uint32_t slot);

#endif
