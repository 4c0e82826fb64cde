/* SPDX-License-Identifier: Apache-2.0
 *
 * A copy of a client's memory at one moment, besides its present memory. Each granule that had
 * bytes has a copy in host memory that outlives this process (dev_spares_ops.spare_make), and the
 * recovery state names it. The next worker can restore the client from these copies
 * (memory_recovery.h) instead of its present memory. The copies stay unchanged, so that the client
 * can go back again.
 *
 * A client's pages must be the same at that moment and when it goes back. The code that backs or
 * frees pages makes the copy void (recovery/savepoint.h); it is also void while it is being made.
 * Owner: `struct memory`. Thread: the worker's.
 */
#ifndef DAEMON_WORKER_MEMORY_MEMORY_SAVED_H
#define DAEMON_WORKER_MEMORY_MEMORY_SAVED_H

#include <stdbool.h>
#include <stdint.h>

struct memory;
struct memory_recovery;

/* Saves page by page, while nothing of the client is in flight and its pages do not change. Starts
 * at page *page, saves at most `most` pages with bytes, and advances *page, which ends at the
 * number of pages. An earlier copy's memory is reused. 0; -ENOTSUP: the device has no such memory,
 * or there is no recovery state; -ENOMEM: the device has none left; or the device's error. */
int memory_save(struct memory *m, uint32_t *page, uint32_t most);
bool memory_save_over(const struct memory *m, uint32_t page);
/* Size of the copies. */
uint64_t memory_saved_bytes(const struct memory *m);
/* Frees the copies, and clears their words in the recovery state. */
void memory_saved_finish(struct memory *m);

/* For memory*.c. memory_saved_lend makes the copies the client's memory as well: 0 or -ENOMEM.
 * memory_saved_has: whether `host` is one of the copies. */
int memory_saved_lend(struct memory *m);
bool memory_saved_has(const struct memory *m, const void *host);

/* Takes an earlier worker's copies, with which memory_save continues. Called between the device's
 * open and memory_settle. Errors as memory_adopt; then there are no copies. */
int memory_saved_adopt(struct memory *m, struct memory_recovery *e);

#endif
