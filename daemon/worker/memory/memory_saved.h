/* SPDX-License-Identifier: Apache-2.0
 *
 * A client's memory as it was at one moment, beside what it is now: each granule that had bytes has
 * a copy in host memory that outlives this process (dev_spares_ops.spare_make), and the estate says
 * which. The next worker can make the client anew with those (memory_estate.h) instead of what its
 * memory holds; they stay what they are, to be gone back to again.
 *
 * A client's pages must be the same ones at that moment and when it goes back: whoever backs pages
 * or takes them away says that the copy counts no longer (estate/savepoint.h), as it does not
 * while it is being made. Owner: struct memory. Thread: the worker's.
 */
#ifndef DAEMON_WORKER_MEMORY_MEMORY_SAVED_H
#define DAEMON_WORKER_MEMORY_MEMORY_SAVED_H

#include <stdbool.h>
#include <stdint.h>

struct memory;
struct memory_estate;

/* Page by page, while nothing of the client is in flight and its pages stay as they are. From page
 * *page on, at most so many that have bytes; *page is where to go on, the number of pages at the
 * end. What an earlier copy had is used again. 0; -ENOTSUP: the device has no such memory, or there
 * is no estate; -ENOMEM: it has none left; or the device's. */
int memory_save(struct memory *m, uint32_t *page, uint32_t most);
bool memory_save_over(const struct memory *m, uint32_t page);
/* Bytes that the copies take. */
uint64_t memory_saved_bytes(const struct memory *m);
/* Gives back what they take, or keeps it for the next one. */
void memory_saved_finish(struct memory *m);

/* For memory*.c. What is saved becomes the client's memory as well: 0 or -ENOMEM. Whether this is
 * of it. */
int memory_saved_lend(struct memory *m);
bool memory_saved_has(const struct memory *m, const void *host);

/* Between the device's open and memory_settle: takes what an earlier worker saved, for memory_save
 * to go on with. Errors as memory_adopt; then there is nothing. */
int memory_saved_adopt(struct memory *m, struct memory_estate *e);

#endif
