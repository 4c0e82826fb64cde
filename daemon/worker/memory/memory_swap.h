/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory that goes elsewhere for a while: pages of the lane when a client loses its turn within an
 * iteration, private chunks when another job needs the room.
 *
 * Owner, thread, errors, and what may be in flight: memory.h.
 */
#ifndef DAEMON_WORKER_MEMORY_MEMORY_SWAP_H
#define DAEMON_WORKER_MEMORY_MEMORY_SWAP_H

#include <stdbool.h>
#include <stdint.h>

struct memory;

/* The lease: all pages of the lane in use go elsewhere with what is in them (to private chunks, or
 * to host memory), and come back to the lane before the client runs again. They keep their places
 * in the lane. After a failed restore the spilled bytes are still there: try again. */
int memory_spill(struct memory *m, bool to_host, uint64_t *moved_bytes);
int memory_restore(struct memory *m, uint64_t *moved_bytes);
bool memory_spilled(const struct memory *m);

/* All private chunks, those that hold spilled pages as well, go to host memory; persistent memory
 * comes back at the same addresses. What is backed meanwhile takes no chunk until then. Module
 * memory stays. */
int memory_swap_out(struct memory *m, uint64_t *moved_bytes);
int memory_swap_in(struct memory *m, uint64_t *moved_bytes);
bool memory_swapped(const struct memory *m);

#endif
