/* SPDX-License-Identifier: Apache-2.0
 *
 * Recounts a client's memory, for tests and for debugging.
 */
#include "daemon/worker/memory/memory_check.h"

#include <stdlib.h>

#include "daemon/worker/memory/memory_clear.h"
#include "daemon/worker/memory/memory_note.h"
#include "daemon/worker/memory/memory_state.h"
#include "daemon/worker/segments/segment.h"

struct check_counts {
    uint32_t persistent, placed, kept, kept_shown, swapped, ephemeral, lane_held, spilled, chunks;
    uint32_t hosted;
};

/* Checks a page of a segment that the client holds. */
static const char *wrong_shown(const struct memory *m, const struct page *p) {
    const struct holding *h = p->holding;
    if (p->slot >= h->segment->count) return "a page maps a part beyond the end of a segment";
    if (p->mapped && h->away) return "a page maps a segment that is not on the device";
    if (h->away && !m->swapped) return "a mapped segment is not on the device";
    return p->mapped && !h->segment->chunks[p->slot] ? "a segment's chunk is missing" : NULL;
}

static bool shows_slot(const struct memory *m, uint32_t page, uint32_t slot) {
    return page < m->page_count && m->pages[page].state == PAGE_LANE && m->pages[page].slot == slot;
}

/* True when the slot's list of pages ends with MEMORY_NO_PAGE and has this page. */
static bool is_chained(const struct memory *m, uint32_t page) {
    uint32_t slot = m->pages[page].slot, at = m->slots[slot].page;
    bool found = false;
    for (; shows_slot(m, at, slot); at = m->pages[at].next)
        found |= at == page;
    return found && at == MEMORY_NO_PAGE;
}

static const char *wrong_in_lane(const struct memory *m, uint32_t i) {
    const struct page *p = &m->pages[i];
    if (i < m->page_count / 2) return "the persistent window maps memory of a lane";
    if (p->slot >= m->slot_end || !is_chained(m, i))
        return "a page names a slot that does not list it";
    if (m->slots[p->slot].holding != p->holding) return "a page maps a slot of another segment";
    if (p->shown != (p->holding != NULL))
        return "a page of the lane has neither backing nor a mapping";
    return p->mapped && !m->lane ? "a page maps a lane that does not exist" : NULL;
}

static const char *wrong_page(const struct memory *m, uint32_t i, struct check_counts *c) {
    const struct page *p = &m->pages[i];
    bool own = p->state == PAGE_PRIVATE || p->state == PAGE_SWAPPED;
    bool placed = p->state == PAGE_SEGMENT && p->holding->placed;
    c->persistent += own;
    c->placed += placed;
    c->kept += i >= m->page_count / 2 && (own || placed);
    c->kept_shown += p->shown && (own || placed);
    c->swapped += p->state == PAGE_SWAPPED;
    c->chunks += p->state == PAGE_PRIVATE;
    if (p->mapped && (p->state == PAGE_NONE || p->state == PAGE_SWAPPED))
        return "a page without a chunk is mapped";
    if (p->state == PAGE_PRIVATE && !p->chunk) return "a chunk is missing";
    if (p->state == PAGE_SEGMENT) return wrong_shown(m, p);
    return p->state == PAGE_LANE ? wrong_in_lane(m, i) : NULL;
}

/* True when the client may run although a chunk that it sees was not cleared for it. */
static bool has_foreign(const struct memory *m) {
    bool foreign = false;
    if (m->lane->holder != m || memory_unclear(m)) return false;
    for (uint32_t i = 0; i < m->slot_end; i++)
        if (memory_slot_used(&m->slots[i]) && m->slots[i].state == SLOT_LANE)
            foreign |= !memory_slot_own(m, i);
    return foreign;
}

static const char *wrong_slot(const struct slot *s, uint32_t i, struct check_counts *c) {
    if (!memory_slot_used(s))
        return s->state == SLOT_LANE ? NULL : "a free slot is not in the lane";
    c->ephemeral++;
    c->lane_held += s->holding != NULL;
    c->spilled += s->state != SLOT_LANE;
    c->hosted += s->state == SLOT_SPILLED_HOST;
    c->chunks += s->state == SLOT_SPILLED;
    if (s->state == SLOT_SPILLED && !s->chunk) return "a chunk is missing";
    if (s->state == SLOT_SPILLED_HOST && !s->host) return "spilled bytes are missing";
    if (s->holding && s->holding->slots[s->index] != i) return "a segment names another slot";
    return NULL;
}

static const char *wrong_slots(const struct memory *m, struct check_counts *c) {
    struct list *pos;
    bool member = false;
    const char *what = NULL;
    if (m->slot_end > m->slot_room) return "slots end too late";
    for (uint32_t i = 0; !what && i < m->slot_room; i++)
        what = wrong_slot(&m->slots[i], i, c);
    if (what) return what;
    if (c->ephemeral != m->ephemeral) return "slots in use are miscounted";
    if (c->lane_held != m->lane_held) return "slots of segments are miscounted";
    if (c->spilled != m->spilled) return "spilled slots are miscounted";
    if (c->hosted != m->hosted) return "slots in host memory are miscounted";
    if (m->slot_end && !memory_slot_used(&m->slots[m->slot_end - 1])) return "slots end too late";
    for (uint32_t i = m->slot_end; i < m->slot_room; i++)
        if (memory_slot_used(&m->slots[i])) return "slots end too early";
    if (!m->lane) return NULL;
    if (m->slot_end > m->lane->count) return "the lane is too short";
    list_each(pos, &m->lane->members) member |= pos == &m->lane_link;
    if (has_foreign(m)) return "a client can read another owner's bytes";
    return member ? NULL : "a client is not a member of its lane";
}

/* Finds pages that the next part of swapping would miss. */
static const char *wrong_next(const struct memory *m) {
    enum page_state moves = m->turned_out ? PAGE_PRIVATE : PAGE_SWAPPED;
    for (uint32_t i = 0; m->swapped && i < m->next_page; i++) {
        const struct page *p = &m->pages[i];
        bool shows = p->state == PAGE_SEGMENT && p->mapped == m->turned_out;
        if (p->state == moves || shows) return "swapping skips a page";
    }
    return NULL;
}

static int by_address(const void *a, const void *b) {
    struct dev_chunk *const *x = a, *const *y = b;
    return ((uintptr_t)*x > (uintptr_t)*y) - ((uintptr_t)*x < (uintptr_t)*y);
}

/* Finds chunks that are in two places. */
static const char *wrong_chunks(const struct memory *m, uint32_t count) {
    uint32_t n = 0, all = count + (m->lane ? m->lane->count : 0);
    struct dev_chunk **seen = calloc(all + 1, sizeof(*seen));
    const char *what = NULL;
    if (!seen) return "out of memory for the check";
    for (uint32_t i = 0; i < m->page_count; i++)
        if (m->pages[i].state == PAGE_PRIVATE) seen[n++] = m->pages[i].chunk;
    for (uint32_t i = 0; i < m->slot_end; i++)
        if (m->slots[i].state == SLOT_SPILLED) seen[n++] = m->slots[i].chunk;
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
    for (uint32_t i = 0; i < m->page_count; i++) {
        const struct page *p = &m->pages[i];
        n += (p->state == PAGE_SEGMENT || p->state == PAGE_LANE) && p->holding == h;
    }
    return n;
}

static const char *wrong_lane_holdings(const struct memory *m) {
    struct list *pos;
    list_each(pos, &m->lane_holdings) {
        const struct holding *h = list_entry(pos, struct holding, link);
        if (h->pages != count_shown(m, h)) return "pages of the lane's segment are miscounted";
        for (uint32_t i = 0; i < h->slot_count; i++)
            if (h->slots[i] >= m->slot_end || m->slots[h->slots[i]].holding != h)
                return "a segment's slot belongs to another";
    }
    return NULL;
}

/* Checks that each chunk, or its bytes, exist. */
static const char *wrong_segment(const struct segment *s) {
    if (!s->holders || s->present > s->holders) return "a segment's holders are miscounted";
    for (uint32_t i = 0; i < s->count; i++)
        if ((s->chunks[i] != NULL) != (i < s->there)) return "a segment's chunks are miscounted";
    if (s->there == s->count || s->retired) return NULL;
    return s->saved < s->count ? "a segment's bytes are neither on the device nor in host memory"
                               : NULL;
}

static const char *wrong_holdings(const struct memory *m) {
    struct list *pos;
    uint64_t held = 0;
    list_each(pos, &m->holdings) {
        const struct holding *h = list_entry(pos, struct holding, link);
        const struct segment *s = h->segment;
        if (h->pages != count_shown(m, h)) return "pages of a segment are miscounted";
        if (h->placed && !h->pages) return "a client holds a segment that it does not map";
        const char *what = h->ending ? NULL : wrong_segment(s);
        if (what) return what;
        if (!h->away && !h->ending && (!s->present || !segment_whole(s)))
            return "a segment is not on the device";
        held += h->placed ? 0 : s->count;
    }
    return held == m->held ? NULL : "the pages of held segments are miscounted";
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
    if (c.kept_shown != m->kept_shown) return "kept pages that were mapped are miscounted";
    if (c.swapped != m->away) return "swapped pages are miscounted";
    if (c.swapped && !m->swapped) return "some private pages are swapped";
    const char *what = wrong_next(m);
    if (!what) what = wrong_holdings(m);
    if (!what) what = wrong_lane_holdings(m);
    if (!what) what = wrong_slots(m, &c);
    if (!what) what = wrong_chunks(m, c.chunks);
    return what ? what : memory_note_check(m);
}
