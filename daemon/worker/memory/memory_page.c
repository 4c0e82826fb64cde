/* SPDX-License-Identifier: Apache-2.0
 *
 * Pages, and freeing their memory.
 */
#include "daemon/worker/memory/memory_page.h"

#include <errno.h>

#include "daemon/worker/memory/memory_holding.h"
#include "daemon/worker/memory/memory_note.h"
#include "daemon/worker/memory/memory_saved.h"
#include "daemon/worker/memory/memory_state.h"
#include "daemon/worker/segments/segment.h"
#include "daemon/worker/segments/spare.h"

void memory_host_free(const struct memory *m, void *host) {
    if (!memory_saved_has(m, host)) spare_free(m->ops, m->dev, m->granule, host);
}

void memory_show_slot(struct memory *m, uint32_t page, uint32_t slot, struct holding *h) {
    m->pages[page].state = PAGE_LANE;
    m->pages[page].shown = h != NULL;
    m->pages[page].slot = slot;
    m->pages[page].next = m->slots[slot].page;
    m->pages[page].holding = h;
    m->slots[slot].page = page;
    if (h) h->pages++;
    memory_note(m, page, &m->pages[page]);
}

void memory_free_slot(struct memory *m, uint32_t slot) {
    struct slot *s = &m->slots[slot];
    if (s->state == SLOT_SPILLED) m->ops->chunk_destroy(m->dev, s->chunk);
    if (s->state == SLOT_SPILLED_HOST) memory_host_free(m, s->host);
    bool hosted = s->state == SLOT_SPILLED_HOST;
    m->spilled -= s->state != SLOT_LANE;
    m->hosted -= hosted;
    *s = (struct slot){.page = MEMORY_NO_PAGE};
    m->ephemeral--;
    while (m->slot_end && !memory_slot_used(&m->slots[m->slot_end - 1]))
        m->slot_end--;
    if (hosted) memory_note_loss(m);
}

static void leave_slot(struct memory *m, const struct page *page) {
    uint32_t *at = &m->slots[page->slot].page;
    while (&m->pages[*at] != page)
        at = &m->pages[*at].next;
    *at = page->next;
    if (page->holding) page->holding->pages--;
    if (!memory_slot_used(&m->slots[page->slot])) memory_free_slot(m, page->slot);
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

static void leave_persistent(struct memory *m, const struct page *page) {
    m->kept -= is_upper(m, page);
    m->kept_shown -= page->shown;
}

static void leave_segment(struct memory *m, struct page *page) {
    if (page->holding->placed) leave_persistent(m, page);
    memory_holding_hide(m, page);
}

void memory_release(struct memory *m, struct page *page) {
    if (page->state != PAGE_NONE) memory_note(m, (uint32_t)(page - m->pages), NULL);
    memory_give_back(m, page);
}

void memory_give_back(struct memory *m, struct page *page) {
    switch (page->state) {
    case PAGE_NONE: return;
    case PAGE_PRIVATE: m->ops->chunk_destroy(m->dev, page->chunk); break;
    case PAGE_SWAPPED: memory_host_free(m, page->host); break;
    case PAGE_LANE: leave_slot(m, page); break;
    case PAGE_SEGMENT: leave_segment(m, page); break;
    }
    if (page->state == PAGE_PRIVATE || page->state == PAGE_SWAPPED) {
        m->persistent--;
        m->away -= page->state == PAGE_SWAPPED;
        leave_persistent(m, page);
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
