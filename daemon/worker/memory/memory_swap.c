/* SPDX-License-Identifier: Apache-2.0
 *
 * Moves memory out and back: pages of the lane when a client loses its turn within an iteration,
 * private chunks when another job needs the memory. The client does not run meanwhile, so its pages
 * of the lane stay mapped. Private pages are unmapped, because their chunks are freed.
 */
#include "daemon/worker/memory/memory_swap.h"

#include <errno.h>
#include <stdlib.h>

#include "daemon/worker/memory/memory_clear.h"
#include "daemon/worker/memory/memory_holding.h"
#include "daemon/worker/memory/memory_note.h"
#include "daemon/worker/memory/memory_page.h"
#include "daemon/worker/memory/memory_plan.h"
#include "daemon/worker/memory/memory_state.h"
#include "daemon/worker/segments/segment.h"

static uint32_t least(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

/* ---- pages of the lane ----------------------------------------------------------------------- */

/* True when the slot is used and its bytes are in the lane. */
static bool swap_in_lane(const struct slot *s) {
    return memory_slot_used(s) && s->state == SLOT_LANE;
}

static int save_slots(const struct memory *m, const struct memory_plan *plan, bool to_host,
                      uint32_t count) {
    uint32_t n = 0;
    int err = 0;
    for (uint32_t slot = 0; !err && n < count; slot++) {
        if (!swap_in_lane(&m->slots[slot])) continue;
        if (memory_slot_own(m, slot)) /* otherwise zeros, as the client would see */
            err = to_host ? m->ops->chunk_save(m->dev, plan->hosts[n], m->lane->chunks[slot])
                          : m->ops->chunk_copy(m->dev, plan->made[n], m->lane->chunks[slot]);
        n++;
    }
    return err;
}

int memory_spill(struct memory *m, bool to_host, uint32_t most, uint64_t *moved_bytes) {
    struct memory_plan plan;
    uint32_t all = m->lane ? m->ephemeral - m->spilled : 0, count = least(all, most);
    *moved_bytes = 0;
    int err = memory_plan_begin(&plan, m, 0, to_host ? 0 : count, to_host ? count : 0);
    if (!err) err = save_slots(m, &plan, to_host, count);
    if (err) return memory_plan_end(&plan, err);
    m->spilled += count;
    m->hosted += to_host ? count : 0;
    m->spilling = count < all;
    memory_note_loss(m);
    for (uint32_t slot = 0, n = 0; n < count; slot++) {
        struct slot *s = &m->slots[slot];
        if (!swap_in_lane(s)) continue;
        s->state = to_host ? SLOT_SPILLED_HOST : SLOT_SPILLED;
        if (to_host)
            s->host = plan.hosts[n++];
        else
            s->chunk = plan.made[n++];
        memory_note_slot(m, slot);
    }
    *moved_bytes = count * m->granule;
    return memory_plan_end(&plan, 0);
}

static bool swap_elsewhere(const struct slot *s) {
    return memory_slot_used(s) && s->state != SLOT_LANE;
}

/* The spilled bytes stay valid until the slot is restored, so nothing is lost. */
static int restore_slot(struct memory *m, uint32_t slot) {
    struct slot *s = &m->slots[slot];
    const struct slot spilled = *s;
    struct dev_chunk *to = m->lane->chunks[slot];
    if (!memory_slot_own(m, slot)) m->lane->owners[slot] = MEMORY_MIXED;
    int err = s->state == SLOT_SPILLED ? m->ops->chunk_copy(m->dev, to, s->chunk)
                                       : m->ops->chunk_load(m->dev, to, s->host);
    if (err) return err;
    m->lane->owners[slot] = m->owner;
    s->state = SLOT_LANE;
    s->chunk = NULL;
    memory_note_slot(m, slot);
    m->spilled--;
    if (spilled.state == SLOT_SPILLED) {
        m->ops->chunk_destroy(m->dev, spilled.chunk);
    } else {
        memory_host_free(m, spilled.host);
        m->hosted--;
    }
    return 0;
}

int memory_restore(struct memory *m, uint32_t most, uint64_t *moved_bytes) {
    int err = 0;
    *moved_bytes = 0;
    m->spilling = false;
    if (!m->spilled) return 0;
    if (!m->lane) return -EINVAL;
    memory_note_lane(m);
    memory_clear_leave(m);
    for (uint32_t slot = 0; !err && most && m->spilled; slot++) {
        if (!swap_elsewhere(&m->slots[slot])) continue;
        err = restore_slot(m, slot);
        if (!err) *moved_bytes += m->granule;
        most--;
    }
    memory_note_loss(m);
    return err;
}

/* ---- segments -------------------------------------------------------------------------------- */

/* Frees the unneeded one of two copies of segments that stopped half-way. */
static void settle_segments(struct memory *m) {
    struct list *pos;
    list_each(pos, &m->holdings) segment_settle(list_entry(pos, struct holding, link)->segment);
}

typedef int holding_step(struct memory *, struct holding *, uint32_t, uint64_t *);

static int step_segments(struct memory *m, uint32_t most, holding_step *step,
                         uint64_t *moved_bytes) {
    uint32_t before = m->part;
    int err = 0;
    struct list *pos = m->holdings.next;
    for (; !err && m->part - before < most && pos != &m->holdings; pos = pos->next)
        err =
            step(m, list_entry(pos, struct holding, link), most - (m->part - before), moved_bytes);
    return err;
}

/* ---- pages ----------------------------------------------------------------------------------- */

/* Continues behind the latest part, or from the beginning when the direction changed. */
static void turn(struct memory *m, bool out) {
    m->part = 0;
    if (m->turned_out == out) return;
    m->next_page = 0;
    m->turned_out = out;
    settle_segments(m);
}

static bool has_chunk(const struct slot *s) {
    return s->state == SLOT_SPILLED;
}

/* True for a page that has to go out, or to come in. */
static bool moves(const struct memory *m, const struct page *p) {
    if (p->state == PAGE_SEGMENT) return p->mapped == m->turned_out;
    return p->state == (m->turned_out ? PAGE_PRIVATE : PAGE_SWAPPED);
}

static uint32_t find_page(const struct memory *m, uint32_t page) {
    while (page < m->page_count && !moves(m, &m->pages[page]))
        page++;
    return page;
}

/* The extent of a part: pages from next_page on, those among them with memory of their own, and
 * slots. */
struct part {
    uint32_t pages, own, slots;
};

/* Counts pages with memory of their own, so that the search ends early. */
static uint32_t count_own(const struct memory *m) {
    return m->turned_out ? m->persistent - m->away : m->away;
}

static bool shows_any(const struct memory *m) {
    const struct list *pos;
    list_each(pos, &m->holdings) if (list_entry(pos, struct holding, link)->pages) return true;
    return false;
}

static bool any_left(const struct memory *m) {
    return count_own(m) || (shows_any(m) && find_page(m, m->next_page) < m->page_count);
}

static struct part part_of(const struct memory *m, uint32_t most) {
    struct part k = {0};
    bool segments = shows_any(m);
    uint32_t i = m->next_page, own = count_own(m);
    for (; k.pages < most && (segments || k.own < own); i++, k.pages++) {
        i = find_page(m, i);
        if (i == m->page_count) break;
        k.own += m->pages[i].state != PAGE_SEGMENT;
    }
    if (m->turned_out) k.slots = least(most - k.pages, m->spilled - m->hosted);
    return k;
}

/* Saves the chunks and plans to unmap their pages. */
static int save_chunks(struct memory *m, struct memory_plan *plan, const struct part *k) {
    uint32_t n = 0, i = m->next_page;
    int err = 0;
    for (uint32_t p = 0; !err && p < k->pages; p++, i++) {
        i = find_page(m, i);
        memory_plan_add(plan, i, NULL);
        if (m->pages[i].state == PAGE_PRIVATE)
            err = m->ops->chunk_save(m->dev, plan->hosts[n++], m->pages[i].chunk);
    }
    for (uint32_t slot = 0; !err && n < k->own + k->slots; slot++)
        if (has_chunk(&m->slots[slot]))
            err = m->ops->chunk_save(m->dev, plan->hosts[n++], m->slots[slot].chunk);
    return err;
}

static void let_page_go(struct memory *m, uint32_t page, void *host) {
    struct page *p = &m->pages[page];
    struct dev_chunk *chunk = p->chunk;
    p->state = PAGE_SWAPPED;
    p->host = host;
    m->away++;
    memory_note(m, page, p);
    m->ops->chunk_destroy(m->dev, chunk);
}

static void let_slot_go(struct memory *m, uint32_t slot, void *host) {
    struct slot *s = &m->slots[slot];
    struct dev_chunk *chunk = s->chunk;
    s->state = SLOT_SPILLED_HOST;
    s->host = host;
    m->hosted++;
    memory_note_slot(m, slot);
    m->ops->chunk_destroy(m->dev, chunk);
}

/* Frees the chunks, whose pages are unmapped; pages of segments no longer move. */
static void let_chunks_go(struct memory *m, const struct memory_plan *plan, const struct part *k) {
    uint32_t n = 0;
    while (n < k->own) {
        m->next_page = find_page(m, m->next_page);
        let_page_go(m, m->next_page++, plan->hosts[n++]);
    }
    for (uint32_t slot = 0; n < k->own + k->slots; slot++)
        if (has_chunk(&m->slots[slot])) let_slot_go(m, slot, plan->hosts[n++]);
}

static int pages_out(struct memory *m, uint32_t most, uint64_t *moved_bytes) {
    struct memory_plan plan;
    struct part k = part_of(m, most);
    int err = memory_plan_begin(&plan, m, k.pages, 0, k.own + k.slots);
    if (!err) err = save_chunks(m, &plan, &k);
    if (!err) err = memory_plan_run(&plan);
    if (err) return memory_plan_end(&plan, err);
    m->swapped = true;
    memory_note_loss(m);
    let_chunks_go(m, &plan, &k);
    m->part += k.pages + k.slots;
    *moved_bytes += (k.own + k.slots) * m->granule;
    return memory_plan_end(&plan, 0);
}

int memory_swap_out(struct memory *m, uint32_t most, uint64_t *moved_bytes) {
    *moved_bytes = 0;
    turn(m, true);
    int err = pages_out(m, most, moved_bytes);
    if (err || m->part == most) return err;
    return step_segments(m, most - m->part, memory_holding_out, moved_bytes);
}

/* Loads pages into the plan's new chunks; pages of a segment get its present chunks. */
static int load_pages(struct memory *m, struct memory_plan *plan, const struct part *k,
                      uint64_t *moved_bytes) {
    uint32_t i = m->next_page, n = 0;
    int err = 0;
    for (uint32_t at = 0; !err && at < k->pages; at++, i++) {
        i = find_page(m, i);
        const struct page *p = &m->pages[i];
        bool own = p->state == PAGE_SWAPPED;
        struct dev_chunk *to = own ? plan->made[n++] : memory_shown(m, p);
        memory_plan_add(plan, i, to);
        if (!own || !p->host) continue;
        err = m->ops->chunk_load(m->dev, to, p->host);
        *moved_bytes += m->granule;
    }
    return err;
}

static void take_page(struct memory *m, uint32_t page, struct dev_chunk *chunk) {
    struct page *p = &m->pages[page];
    void *host = p->host;
    p->state = PAGE_PRIVATE;
    p->chunk = chunk;
    m->away--;
    memory_note(m, page, p);
    memory_host_free(m, host);
}

static int pages_in(struct memory *m, uint32_t most, uint64_t *moved_bytes) {
    struct memory_plan plan;
    struct part k = part_of(m, most);
    int err = memory_plan_begin(&plan, m, k.pages, k.own, 0);
    if (!err) err = load_pages(m, &plan, &k, moved_bytes);
    if (!err) err = memory_plan_run(&plan);
    if (err) return memory_plan_end(&plan, err);
    for (uint32_t n = 0; n < k.own; n++) {
        m->next_page = find_page(m, m->next_page);
        take_page(m, m->next_page++, plan.made[n]);
    }
    m->part += k.pages;
    m->swapped = any_left(m);
    memory_note_loss(m);
    return memory_plan_end(&plan, 0);
}

/* Segments come first, because their pages map the present chunks. */
int memory_swap_in(struct memory *m, uint32_t most, uint64_t *moved_bytes) {
    *moved_bytes = 0;
    if (!m->swapped) return 0;
    turn(m, false);
    int err = step_segments(m, most, memory_holding_in, moved_bytes);
    if (err || m->part == most) return err;
    return pages_in(m, most - m->part, moved_bytes);
}

bool memory_spilled(const struct memory *m) {
    return m->spilled > 0;
}

bool memory_spilling(const struct memory *m) {
    return m->spilling;
}

bool memory_swapped(const struct memory *m) {
    return m->swapped;
}

bool memory_out(const struct memory *m) {
    const struct list *pos;
    if (!m->swapped || !m->turned_out || m->spilled > m->hosted) return false;
    list_each(pos, &m->holdings) {
        if (!memory_holding_left(list_entry(pos, struct holding, link))) return false;
    }
    return !any_left(m);
}
