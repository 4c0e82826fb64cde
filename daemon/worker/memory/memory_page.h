/* SPDX-License-Identifier: Apache-2.0
 *
 * For memory*.c: one page, what it shows, and giving that back.
 *
 * Owner and thread: memory.h.
 */
#ifndef DAEMON_WORKER_MEMORY_MEMORY_PAGE_H
#define DAEMON_WORKER_MEMORY_MEMORY_PAGE_H

#include <stdint.h>

struct dev_chunk;
struct holding;
struct memory;
struct page;

/* A granule of host memory that the client's memory was in: back to the device, unless it is of
 * what is saved. */
void memory_host_free(const struct memory *m, void *host);
/* Gives back all that an unmapped page has; it is in use no longer. The estate says so before; or,
 * give_back, says something else of it already. */
void memory_release(struct memory *m, struct page *page);
void memory_give_back(struct memory *m, struct page *page);
/* The page, which shows nothing, shows the slot. */
void memory_show_slot(struct memory *m, uint32_t page, uint32_t slot, struct holding *h);
/* No page shows it, and no segment has it. Its bytes are lost. */
void memory_free_slot(struct memory *m, uint32_t slot);
/* The content of a mapped page. */
struct dev_chunk *memory_shown(const struct memory *m, const struct page *page);
/* Whole pages of one half, else -EINVAL. */
int memory_whole(const struct memory *m, uint64_t addr, uint64_t bytes, uint32_t *first,
                 uint32_t *count);
/* The pages that a range of bytes touches; -EINVAL when it leaves the window. */
int memory_touched(const struct memory *m, uint64_t addr, uint64_t bytes, uint32_t *first,
                   uint32_t *count);

#endif
