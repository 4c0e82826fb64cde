/* SPDX-License-Identifier: Apache-2.0
 *
 * For memory*.c: a client's part in one segment (memory_segment.h), and how it moves to the device
 * and out of it.
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

/* Adds an empty holding to this list; NULL: out of memory. */
struct holding *memory_holding_make(struct memory *m, struct list *among);
/* Frees a holding without a segment; or drops its segment first. */
void memory_holding_free(struct memory *m, struct holding *h);
void memory_holding_drop(struct memory *m, struct holding *h);
/* Removes an unmapped page from its segment. A holding that is placed ends with its last page. */
void memory_holding_hide(struct memory *m, struct page *page);
/* Moves a held segment in, or out once no page maps it, by at most `most` chunks, which are added
 * to memory.part. */
int memory_holding_in(struct memory *m, struct holding *h, uint32_t most, uint64_t *moved_bytes);
int memory_holding_out(struct memory *m, struct holding *h, uint32_t most, uint64_t *moved_bytes);
bool memory_holding_left(const struct holding *h); /* no work is left to move it out */

#endif
