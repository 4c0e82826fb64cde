/* SPDX-License-Identifier: Apache-2.0
 *
 * Moves memory out and back: pages of the lane when a client loses its turn within an iteration,
 * private chunks when another job needs the memory.
 *
 * Owner, thread, errors, and what may be in flight: memory.h.
 */
#ifndef DAEMON_WORKER_MEMORY_MEMORY_SWAP_H
#define DAEMON_WORKER_MEMORY_MEMORY_SWAP_H

#include <stdbool.h>
#include <stdint.h>

struct memory;

/* These calls work in parts of at most `most` granules. A part that fails may have moved some, and
 * loses nothing. Between two parts the client may be queried, changed and ended as usual, but must
 * not run. A client that is half out may come in, and the other way round. */

/* Lease. memory_spill moves the bytes of all used pages of the lane to private chunks, or to host
 * memory; memory_restore moves them back before the client runs again. They keep their places in
 * the lane. A failed restore can be repeated: the rest is still spilled. memory_spilling: the
 * latest part was not the last. */
int memory_spill(struct memory *m, bool to_host, uint32_t most, uint64_t *moved_bytes);
int memory_restore(struct memory *m, uint32_t most, uint64_t *moved_bytes);
bool memory_spilling(const struct memory *m);
bool memory_spilled(const struct memory *m); /* some of it is spilled */

/* memory_swap_out moves all private chunks, including those with spilled pages, to host memory;
 * memory_swap_in brings persistent memory back at the same addresses. Pages backed meanwhile take
 * no chunk until then. Module memory stays. Segments go last and come first. memory_swapped: true
 * from the first part that goes out until the last that comes in. memory_out: no part is left to go
 * out. */
int memory_swap_out(struct memory *m, uint32_t most, uint64_t *moved_bytes);
int memory_swap_in(struct memory *m, uint32_t most, uint64_t *moved_bytes);
bool memory_swapped(const struct memory *m);
bool memory_out(const struct memory *m);

#endif
