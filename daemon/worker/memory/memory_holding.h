/* SPDX-License-Identifier: Apache-2.0
 *
 * For memory*.c: what a client holds of one segment (memory_segment.h), and how that comes to the
 * device and leaves it.
 *
 * Owner and thread: memory.h.
 */
#ifndef DAEMON_WORKER_MEMORY_MEMORY_HOLDING_H
#define DAEMON_WORKER_MEMORY_MEMORY_HOLDING_H

#include <stdbool.h>
#include <stdint.h>

struct holding;
struct list;
struct memory;
struct page;

/* A new one in this list, of nothing yet; NULL: out of memory. */
struct holding *memory_holding_make(struct memory *m, struct list *among);
/* It holds nothing any more; or drops its segment first. */
void memory_holding_free(struct memory *m, struct holding *h);
void memory_holding_drop(struct memory *m, struct holding *h);
/* An unmapped page shows its segment no longer. A holding that is placed goes with its last page.
 */
void memory_holding_hide(struct memory *m, struct page *page);
/* A client's held part of a segment comes in, or goes out where no page shows it, in so many chunks
 * at most, which are added to memory.part. */
int memory_holding_in(struct memory *m, struct holding *h, uint32_t most, uint64_t *moved_bytes);
int memory_holding_out(struct memory *m, struct holding *h, uint32_t most, uint64_t *moved_bytes);
bool memory_holding_left(const struct holding *h); /* it has nothing to do to be out */

#endif
