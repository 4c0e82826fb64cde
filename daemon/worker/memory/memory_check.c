/* SPDX-License-Identifier: Apache-2.0
 *
 * Recounts a client's memory, for tests and for whoever suspects it.
 */
#include "daemon/worker/memory/memory_check.h"

#include <stdlib.h>

#include "daemon/worker/memory/memory_clear.h"
#include "daemon/worker/memory/memory_state.h"
#include "daemon/worker/memory/segment.h"

struct check_counts {
    uint32_t persistent, placed, kept, swapped, ephemeral, spilled, chunks;
};

/* A page of a segment, which its client holds. */
static const char *wrong_shown(const struct memory *m, const struct page *p) {
    const struct holding *h = p->holding;
    if (p->slot >= h->segment->count) return "a page shows more than there is of a segment";
    if (p->mapped && m->swapped) return "a page without a chunk is mapped";
    return p->mapped && !h->segment->chunks[p->slot] ? "a segment's chunk is missing" : NULL;
}

static const char *wrong_page(const struct memory *m, uint32_t i, struct check_counts *c) {
    const struct page *p = &m->pages[i];
    bool upper = i >= m->page_count / 2;
    c->persistent += p->state == PAGE_PRIVATE || p->state == PAGE_SWAPPED;
    bool placed = p->state == PAGE_SEGMENT && p->holding->placed;
    c->placed += placed;
    c->kept += upper && (p->state == PAGE_PRIVATE || p->state == PAGE_SWAPPED || placed);
    c->swapped += p->state == PAGE_SWAPPED;
    c->spilled += p->state == PAGE_SPILLED || p->state == PAGE_SPILLED_HOST;
    c->chunks += p->state == PAGE_PRIVATE || p->state == PAGE_SPILLED;
    if (p->mapped && (p->state == PAGE_NONE || p->state == PAGE_SWAPPED))
        return "a page without a chunk is mapped";
    if ((p->state == PAGE_PRIVATE || p->state == PAGE_SPILLED) && !p->chunk)
        return "a chunk is missing";
    if (p->state == PAGE_SPILLED_HOST && !p->host) return "spilled bytes are missing";
    if (p->state == PAGE_SEGMENT) return wrong_shown(m, p);
    if (p->state == PAGE_NONE || p->state == PAGE_PRIVATE || p->state == PAGE_SWAPPED) return NULL;
    c->ephemeral++;
    if (!upper) return "the persistent window shows a lane";
    if (p->slot >= m->slot_end || m->slots[p->slot] != i) return "a page's slot is not its own";
    if (p->mapped && !m->lane) return "a page shows a lane that is not there";
    return NULL;
}

/* It may run, and a chunk that it is shown was not cleared for it. */
static bool has_foreign(const struct memory *m) {
    bool foreign = false;
    if (m->lane->holder != m || memory_unclear(m)) return false;
    for (uint32_t i = 0; i < m->slot_end; i++)
        if (m->slots[i] != MEMORY_NO_PAGE && m->pages[m->slots[i]].state == PAGE_LANE)
            foreign |= !memory_clear_own(m, i);
    return foreign;
}

static const char *wrong_slots(const struct memory *m) {
    uint32_t taken = 0;
    struct list *pos;
    bool member = false;
    for (uint32_t i = 0; i < m->slot_room; i++)
        taken += m->slots[i] != MEMORY_NO_PAGE;
    if (taken != m->ephemeral) return "slots and ephemeral pages differ";
    if (m->slot_end > m->slot_room) return "slots end too late";
    if (m->slot_end && m->slots[m->slot_end - 1] == MEMORY_NO_PAGE) return "slots end too late";
    for (uint32_t i = m->slot_end; i < m->slot_room; i++)
        if (m->slots[i] != MEMORY_NO_PAGE) return "slots end too early";
    if (!m->lane) return NULL;
    if (m->slot_end > m->lane->count) return "the lane is too short";
    list_each(pos, &m->lane->members) member |= pos == &m->lane_link;
    if (has_foreign(m)) return "it is shown another owner's bytes";
    return member ? NULL : "not a member of its lane";
}

static int by_address(const void *a, const void *b) {
    struct dev_chunk *const *x = a, *const *y = b;
    return ((uintptr_t)*x > (uintptr_t)*y) - ((uintptr_t)*x < (uintptr_t)*y);
}

/* No chunk is in two places. */
static const char *wrong_chunks(const struct memory *m, uint32_t count) {
    uint32_t n = 0, all = count + (m->lane ? m->lane->count : 0);
    struct dev_chunk **seen = calloc(all + 1, sizeof(*seen));
    const char *what = NULL;
    if (!seen) return "no memory to check with";
    for (uint32_t i = 0; i < m->page_count; i++)
        if (m->pages[i].state == PAGE_PRIVATE || m->pages[i].state == PAGE_SPILLED)
            seen[n++] = m->pages[i].chunk;
    for (uint32_t i = 0; m->lane && i < m->lane->count; i++)
        seen[n++] = m->lane->chunks[i];
    qsort(seen, n, sizeof(*seen), by_address);
    for (uint32_t i = 1; i < n; i++)
        if (seen[i] == seen[i - 1]) what = "a chunk is in two places";
    free(seen);
    return what;
}

static uint32_t count_shown(const struct memory *m, const struct holding *h) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->page_count; i++)
        n += m->pages[i].state == PAGE_SEGMENT && m->pages[i].holding == h;
    return n;
}

static const char *wrong_holdings(const struct memory *m) {
    struct list *pos;
    uint64_t held = 0;
    list_each(pos, &m->holdings) {
        const struct holding *h = list_entry(pos, struct holding, link);
        const struct segment *s = h->segment;
        if (h->pages != count_shown(m, h)) return "pages of a segment are miscounted";
        if (h->placed && !h->pages) return "a segment is held for nothing";
        if (!s->holders || s->present > s->holders) return "a segment's holders are miscounted";
        if (!m->swapped && (!s->present || !s->chunks[0])) return "a segment is not on the device";
        held += h->placed ? 0 : s->count;
    }
    return held == m->held ? NULL : "what is held of segments is miscounted";
}

const char *memory_check(const struct memory *m) {
    struct check_counts c = {0};
    for (uint32_t i = 0; i < m->page_count; i++) {
        const char *what = wrong_page(m, i, &c);
        if (what) return what;
    }
    if (c.persistent != m->persistent) return "persistent pages are miscounted";
    if (c.placed != m->placed) return "placed pages are miscounted";
    if (c.kept != m->kept) return "kept pages are miscounted";
    if (c.ephemeral != m->ephemeral) return "ephemeral pages are miscounted";
    if (c.spilled != m->spilled) return "spilled pages are miscounted";
    if (c.swapped != (m->swapped ? m->persistent : 0)) return "some private pages are swapped";
    const char *what = wrong_holdings(m);
    if (!what) what = wrong_slots(m);
    return what ? what : wrong_chunks(m, c.chunks);
}
