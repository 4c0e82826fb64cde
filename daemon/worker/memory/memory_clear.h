/* SPDX-License-Identifier: Apache-2.0
 *
 * Clears lane chunks between owners. A chunk of a lane records whose bytes it has, and no other
 * owner sees them: a client with another owner sees zeros. New chunks are zero.
 *
 * Owner, thread and errors: memory.h.
 */
#ifndef DAEMON_WORKER_MEMORY_MEMORY_CLEAR_H
#define DAEMON_WORKER_MEMORY_MEMORY_CLEAR_H

#include <stdbool.h>
#include <stdint.h>

struct memory;
struct memory_lane;

/* Owner of a chunk with bytes of several owners after a failed copy: foreign to all. */
#define MEMORY_MIXED UINT64_MAX

/* Sets the owner of the bytes that the client writes: any number but MEMORY_MIXED. It is 0 at
 * first: a client whose chunks need no clearing. Called before the client joins a lane. */
void memory_set_owner(struct memory *m, uint64_t owner);
/* The client has its lane's turn until another one enters, and expects to use `bytes` of it. While
 * memory_unclear is true it must not run. memory_clear clears at most `most` chunks more; 0 or the
 * device's error. */
void memory_enter(struct memory *m, uint64_t bytes);
int memory_clear(struct memory *m, uint32_t most);
bool memory_unclear(const struct memory *m);
uint64_t memory_cleared(const struct memory *m);              /* bytes so far, for this client */
uint64_t memory_lane_cleared(const struct memory_lane *lane); /* bytes so far */

/* Ends the turn of another client in this client's lane, because this client's bytes come into the
 * lane. */
void memory_clear_leave(struct memory *m);
/* Called before the client maps the lane's chunk of this slot. If the client has the turn, the
 * chunk is its own afterwards. */
int memory_clear_slot(struct memory *m, uint32_t slot);

#endif
