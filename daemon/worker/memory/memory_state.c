/* SPDX-License-Identifier: Apache-2.0
 *
 * What a page has, and giving it back.
 */
#include "daemon/worker/memory/memory_state.h"

#include <errno.h>
#include <sys/mman.h>

#include "daemon/worker/memory/segment.h"

/* Mapped one by one, since they come and go one by one; not from malloc, which would keep them. */
void *memory_host_make(const struct memory *m) {
    void *p = mmap(NULL, m->granule, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

void memory_host_free(const struct memory *m, void *host) {
    if (host) munmap(host, m->granule);
}

void memory_free_slot(struct memory *m, uint32_t slot) {
    m->slots[slot] = MEMORY_NO_PAGE;
    m->ephemeral--;
    while (m->slot_end && m->slots[m->slot_end - 1] == MEMORY_NO_PAGE)
        m->slot_end--;
}

struct dev_chunk *memory_shown(const struct memory *m, const struct page *page) {
    switch (page->state) {
    case PAGE_PRIVATE: return page->chunk;
    case PAGE_SEGMENT: return page->holding->segment->chunks[page->slot];
    default: return m->lane->chunks[page->slot];
    }
}

static bool is_upper(const struct memory *m, const struct page *page) {
    return page >= m->pages + m->page_count / 2;
}

static void release_segment(struct memory *m, struct page *page) {
    if (page->holding->placed) m->kept -= is_upper(m, page);
    memory_hide_page(m, page);
    *page = (struct page){.state = PAGE_NONE};
}

void memory_release(struct memory *m, struct page *page) {
    switch (page->state) {
    case PAGE_NONE: return;
    case PAGE_PRIVATE: m->ops->chunk_destroy(m->dev, page->chunk); break;
    case PAGE_SWAPPED: memory_host_free(m, page->host); break;
    case PAGE_LANE: break;
    case PAGE_SPILLED: m->ops->chunk_destroy(m->dev, page->chunk); break;
    case PAGE_SPILLED_HOST: memory_host_free(m, page->host); break;
    case PAGE_SEGMENT: release_segment(m, page); return;
    }
    if (page->state == PAGE_PRIVATE || page->state == PAGE_SWAPPED) {
        m->persistent--;
        m->kept -= is_upper(m, page);
    } else {
        m->spilled -= page->state != PAGE_LANE;
        memory_free_slot(m, page->slot);
    }
    *page = (struct page){.state = PAGE_NONE};
}

int memory_whole(const struct memory *m, uint64_t addr, uint64_t bytes, uint32_t *first,
                 uint32_t *count) {
    uint32_t half = m->page_count / 2;
    int err = memory_touched(m, addr, bytes, first, count);
    if (err || !bytes || (addr - m->base) % m->granule || bytes % m->granule) return -EINVAL;
    bool straddles = *first < half && half - *first < *count;
    return straddles ? -EINVAL : 0;
}

int memory_touched(const struct memory *m, uint64_t addr, uint64_t bytes, uint32_t *first,
                   uint32_t *count) {
    uint64_t window = m->page_count * m->granule, offset = addr - m->base;
    if (addr < m->base || offset > window || bytes > window - offset) return -EINVAL;
    *first = (uint32_t)(offset / m->granule);
    *count = bytes ? (uint32_t)((offset + bytes - 1) / m->granule) - *first + 1 : 0;
    return 0;
}
