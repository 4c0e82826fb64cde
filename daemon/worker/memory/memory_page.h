/* SPDX-License-Identifier: Apache-2.0
 *
 * For memory*.c: the chunk or host memory of one page, and freeing it.
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

/* Frees a granule of host memory that had the client's bytes, unless it is a saved copy. */
void memory_host_free(const struct memory *m, void *host);
/* Frees all that an unmapped page has; the page is unused afterwards. memory_release first changes
 * the page's recovery entry; memory_give_back expects that to be done. */
void memory_release(struct memory *m, struct page *page);
void memory_give_back(struct memory *m, struct page *page);
/* Makes an unused page one of the slot's pages. */
void memory_show_slot(struct memory *m, uint32_t page, uint32_t slot, struct holding *h);
/* Frees a slot that has no page and no segment. Its bytes are lost. */
void memory_free_slot(struct memory *m, uint32_t slot);
/* The chunk of a mapped page. */
struct dev_chunk *memory_shown(const struct memory *m, const struct page *page);
/* The pages of a range that is whole granules of one half, else -EINVAL. */
int memory_whole(const struct memory *m, uint64_t addr, uint64_t bytes, uint32_t *first,
                 uint32_t *count);
/* The pages that a range of bytes touches; -EINVAL when it leaves the window. */
int memory_touched(const struct memory *m, uint64_t addr, uint64_t bytes, uint32_t *first,
                   uint32_t *count);

#endif
