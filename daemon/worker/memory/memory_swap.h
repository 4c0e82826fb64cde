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

/* In parts, of at most so many granules each. Of one that fails some may be done, and nothing is
 * lost. Between two of them the client may be asked, changed and ended as ever, but must not run;
 * and where half of it went out, it may come in, and the other way round. */

/* The lease: all pages of the lane in use go elsewhere with what is in them (to private chunks, or
 * to host memory), and come back to the lane before the client runs again. They keep their places
 * in the lane. What a failed restore did not bring back is still there: try again. `spilling`: the
 * latest part was not the last. */
int memory_spill(struct memory *m, bool to_host, uint32_t most, uint64_t *moved_bytes);
int memory_restore(struct memory *m, uint32_t most, uint64_t *moved_bytes);
bool memory_spilling(const struct memory *m);
bool memory_spilled(const struct memory *m); /* some of it is */

/* All private chunks, those that hold spilled pages as well, go to host memory; persistent memory
 * comes back at the same addresses. What is backed meanwhile takes no chunk until then. Module
 * memory stays. Segments go last, and come first. `swapped` from the first part that goes out until
 * the last that comes in; `out`: no part is left to go out. */
int memory_swap_out(struct memory *m, uint32_t most, uint64_t *moved_bytes);
int memory_swap_in(struct memory *m, uint32_t most, uint64_t *moved_bytes);
bool memory_swapped(const struct memory *m);
bool memory_out(const struct memory *m);

#endif
