/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory that goes elsewhere for a while: pages of the lane when a client loses its turn within an
 * iteration, private chunks when another job needs the room. The client does not run meanwhile, so
 * its pages of the lane stay mapped; private pages cannot, for their chunks go.
 */
#include "daemon/worker/memory/memory_swap.h"

#include <errno.h>
#include <stdlib.h>

#include "daemon/worker/memory/memory_clear.h"
#include "daemon/worker/memory/memory_plan.h"
#include "daemon/worker/memory/memory_state.h"
#include "daemon/worker/memory/segment.h"

static uint32_t least(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

/* ---- what is in the lane --------------------------------------------------------------------- */

/* Its bytes are in the lane. */
static bool swap_in_lane(const struct slot *s) {
    return memory_slot_used(s) && s->state == SLOT_LANE;
}

static int save_slots(const struct memory *m, const struct memory_plan *plan, bool to_host,
                      uint32_t count) {
    uint32_t n = 0;
    int err = 0;
    for (uint32_t slot = 0; !err && n < count; slot++) {
        if (!swap_in_lane(&m->slots[slot])) continue;
        if (memory_clear_own(m, slot)) /* else zeros, which is what it would see */
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

/* Until it is there, nothing is lost: what was spilled is still what counts. */
static int restore_slot(struct memory *m, uint32_t slot) {
    struct slot *s = &m->slots[slot];
    const struct slot spilled = *s;
    struct dev_chunk *to = m->lane->chunks[slot];
    if (!memory_clear_own(m, slot)) m->lane->owners[slot] = MEMORY_MIXED;
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

/* ---- chunks of its own ----------------------------------------------------------------------- */

/* Behind the latest part's last, or from the beginning when it was on the way back. */
static void turn(struct memory *m, bool out) {
    if (m->turned_out != out) m->next_page = 0;
    m->turned_out = out;
}

static bool swap_slot_has_chunk(const struct slot *s) {
    return s->state == SLOT_SPILLED;
}

static uint32_t count_chunks(const struct memory *m) {
    return m->persistent - m->away + m->spilled - m->hosted;
}

/* The first page from there on that has a chunk of its own, or is away. */
static uint32_t find_page(const struct memory *m, uint32_t page, enum page_state state) {
    while (page < m->page_count && m->pages[page].state != state)
        page++;
    return page;
}

/* The next ones, as many as there are hosts, in the order in which they are let go. They are seen
 * no longer. */
static int save_chunks(struct memory *m, struct memory_plan *plan) {
    uint32_t n = 0, i = m->next_page;
    int err = 0;
    while (!err && n < plan->host_count) {
        i = find_page(m, i, PAGE_PRIVATE);
        if (i == m->page_count) break;
        memory_plan_add(plan, i, NULL);
        err = m->ops->chunk_save(m->dev, plan->hosts[n++], m->pages[i++].chunk);
    }
    for (uint32_t slot = 0; !err && n < plan->host_count; slot++)
        if (swap_slot_has_chunk(&m->slots[slot]))
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

static void let_chunks_go(struct memory *m, const struct memory_plan *plan) {
    uint32_t n = 0;
    while (n < plan->host_count) {
        m->next_page = find_page(m, m->next_page, PAGE_PRIVATE);
        if (m->next_page == m->page_count) break;
        let_page_go(m, m->next_page++, plan->hosts[n++]);
    }
    for (uint32_t slot = 0; n < plan->host_count; slot++)
        if (swap_slot_has_chunk(&m->slots[slot])) let_slot_go(m, slot, plan->hosts[n++]);
}

/* ---- segments go, and come back, with those who hold them ------------------------------------ */

static struct segment *held(struct list *link) {
    return list_entry(link, struct holding, link)->segment;
}

static uint32_t count_shown(const struct memory *m) {
    uint32_t n = 0;
    struct list *pos;
    list_each(pos, &m->holdings) n += list_entry(pos, struct holding, link)->pages;
    return n;
}

static void settle_segments(struct memory *m) {
    struct list *pos;
    list_each(pos, &m->holdings) segment_settle(held(pos));
}

static void enter_segments(struct memory *m) {
    struct list *pos;
    list_each(pos, &m->holdings) segment_enter(held(pos));
    settle_segments(m);
}

/* Whole or not at all; their chunks are still there, for pages show them. */
static int leave_segments(struct memory *m, uint64_t *moved_bytes) {
    struct list *pos;
    int err = 0;
    list_each(pos, &m->holdings) segment_leave(held(pos));
    for (pos = m->holdings.next; !err && pos != &m->holdings; pos = pos->next)
        err = segment_save(held(pos), moved_bytes);
    if (err) enter_segments(m);
    return err;
}

static int load_segments(struct memory *m, uint64_t *moved_bytes) {
    int err = 0;
    for (struct list *pos = m->holdings.next; !err && pos != &m->holdings; pos = pos->next)
        err = segment_load(held(pos), moved_bytes);
    if (err) settle_segments(m);
    return err;
}

/* ---- all of a client ------------------------------------------------------------------------- */

/* Segments are seen no longer. */
static void plan_leave(const struct memory *m, struct memory_plan *plan) {
    for (uint32_t i = 0; i < m->page_count; i++)
        if (m->pages[i].mapped && m->pages[i].state == PAGE_SEGMENT) memory_plan_add(plan, i, NULL);
}

/* With the first part go all segments: from then on it is swapped. */
static int go_out(struct memory *m, struct memory_plan *plan, bool first, uint64_t *moved_bytes) {
    int err = save_chunks(m, plan);
    if (!err && first) plan_leave(m, plan);
    if (!err && first) err = leave_segments(m, moved_bytes);
    if (err) return err;
    err = memory_plan_run(plan);
    if (err && first) enter_segments(m);
    return err;
}

int memory_swap_out(struct memory *m, uint32_t most, uint64_t *moved_bytes) {
    struct memory_plan plan;
    bool first = !m->swapped;
    uint32_t count = least(count_chunks(m), most);
    *moved_bytes = 0;
    turn(m, true);
    int err = memory_plan_begin(&plan, m, count + (first ? count_shown(m) : 0), 0, count);
    if (!err) err = go_out(m, &plan, first, moved_bytes);
    if (err) return memory_plan_end(&plan, err);
    if (first) settle_segments(m);
    m->swapped = true;
    memory_note_loss(m);
    let_chunks_go(m, &plan);
    *moved_bytes += count * m->granule;
    return memory_plan_end(&plan, 0);
}

/* The next ones, into the plan's new chunks. */
static int load_pages(struct memory *m, struct memory_plan *plan, uint64_t *moved_bytes) {
    uint32_t i = m->next_page;
    int err = 0;
    for (uint32_t n = 0; !err && n < plan->made_count; n++, i++) {
        i = find_page(m, i, PAGE_SWAPPED);
        const struct page *p = &m->pages[i];
        memory_plan_add(plan, i, plan->made[n]);
        if (p->host) err = m->ops->chunk_load(m->dev, plan->made[n], p->host);
        if (p->host) *moved_bytes += m->granule;
    }
    return err;
}

/* With the last part come all segments. */
static int show_segments(struct memory *m, struct memory_plan *plan, uint64_t *moved_bytes) {
    int err = load_segments(m, moved_bytes);
    for (uint32_t i = 0; !err && i < m->page_count; i++)
        if (m->pages[i].state == PAGE_SEGMENT)
            memory_plan_add(plan, i, memory_shown(m, &m->pages[i]));
    return err;
}

static int come_in(struct memory *m, struct memory_plan *plan, bool last, uint64_t *moved_bytes) {
    int err = last ? show_segments(m, plan, moved_bytes) : 0;
    if (err) return err;
    err = load_pages(m, plan, moved_bytes);
    if (!err) err = memory_plan_run(plan);
    if (err && last) settle_segments(m);
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

int memory_swap_in(struct memory *m, uint32_t most, uint64_t *moved_bytes) {
    struct memory_plan plan;
    uint32_t count = least(m->away, most);
    bool last = count == m->away;
    *moved_bytes = 0;
    if (!m->swapped) return 0;
    turn(m, false);
    int err = memory_plan_begin(&plan, m, count + (last ? count_shown(m) : 0), count, 0);
    if (!err) err = come_in(m, &plan, last, moved_bytes);
    if (err) return memory_plan_end(&plan, err);
    if (last) enter_segments(m);
    for (uint32_t n = 0; n < count; n++) {
        m->next_page = find_page(m, m->next_page, PAGE_SWAPPED);
        take_page(m, m->next_page++, plan.made[n]);
    }
    m->swapped = !last;
    memory_note_loss(m);
    return memory_plan_end(&plan, 0);
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
    return m->swapped && !count_chunks(m);
}

uint32_t memory_away(const struct memory *m) {
    return m->away;
}
