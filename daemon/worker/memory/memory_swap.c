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

/* Its bytes are in the lane. */
static bool swap_in_lane(const struct slot *s) {
    return memory_slot_used(s) && s->state == SLOT_LANE;
}

int memory_spill(struct memory *m, bool to_host, uint64_t *moved_bytes) {
    struct memory_plan plan;
    uint32_t count = m->lane ? m->ephemeral - m->spilled : 0, n = 0;
    *moved_bytes = 0;
    int err = memory_plan_begin(&plan, m, 0, to_host ? 0 : count, to_host ? count : 0);
    for (uint32_t slot = 0; !err && n < count; slot++) {
        if (!swap_in_lane(&m->slots[slot])) continue;
        if (memory_clear_own(m, slot)) /* else zeros, which is what it would see */
            err = to_host ? m->ops->chunk_save(m->dev, plan.hosts[n], m->lane->chunks[slot])
                          : m->ops->chunk_copy(m->dev, plan.made[n], m->lane->chunks[slot]);
        n++;
    }
    if (err) return memory_plan_end(&plan, err);
    n = 0;
    for (uint32_t slot = 0; n < count; slot++) {
        struct slot *s = &m->slots[slot];
        if (!swap_in_lane(s)) continue;
        s->state = to_host ? SLOT_SPILLED_HOST : SLOT_SPILLED;
        if (to_host)
            s->host = plan.hosts[n++];
        else
            s->chunk = plan.made[n++];
    }
    m->spilled += n;
    m->hosted += to_host ? n : 0;
    memory_note_loss(m);
    memory_note_slots(m);
    *moved_bytes = n * m->granule;
    return memory_plan_end(&plan, 0);
}

static bool swap_elsewhere(const struct slot *s) {
    return memory_slot_used(s) && s->state != SLOT_LANE;
}

int memory_restore(struct memory *m, uint64_t *moved_bytes) {
    *moved_bytes = 0;
    if (!m->spilled) return 0;
    if (!m->lane) return -EINVAL;
    memory_note_lane(m);
    for (uint32_t slot = 0; slot < m->slot_end; slot++) {
        const struct slot *s = &m->slots[slot];
        if (!swap_elsewhere(s)) continue;
        struct dev_chunk *to = m->lane->chunks[slot];
        if (!memory_clear_own(m, slot)) m->lane->owners[slot] = MEMORY_MIXED;
        int err = s->state == SLOT_SPILLED ? m->ops->chunk_copy(m->dev, to, s->chunk)
                                           : m->ops->chunk_load(m->dev, to, s->host);
        if (err) return err; /* nothing is lost: what was spilled is still there */
        m->lane->owners[slot] = m->owner;
    }
    for (uint32_t slot = 0; slot < m->slot_end; slot++) {
        struct slot *s = &m->slots[slot];
        if (!swap_elsewhere(s)) continue;
        const struct slot spilled = *s;
        s->state = SLOT_LANE;
        s->chunk = NULL;
        memory_note_slot(m, slot);
        if (spilled.state == SLOT_SPILLED)
            m->ops->chunk_destroy(m->dev, spilled.chunk);
        else
            memory_host_free(m, spilled.host);
    }
    *moved_bytes = m->spilled * m->granule;
    m->spilled = m->hosted = 0;
    memory_note_loss(m);
    return 0;
}

/* ---- chunks of its own ----------------------------------------------------------------------- */

static bool swap_page_has_chunk(const struct page *p) {
    return p->state == PAGE_PRIVATE;
}

static bool swap_slot_has_chunk(const struct slot *s) {
    return s->state == SLOT_SPILLED;
}

static uint32_t count_chunks(const struct memory *m) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->page_count; i++)
        n += swap_page_has_chunk(&m->pages[i]);
    for (uint32_t slot = 0; slot < m->slot_end; slot++)
        n += swap_slot_has_chunk(&m->slots[slot]);
    return n;
}

/* All of them, in the order in which they are let go. */
static int save_chunks(struct memory *m, const struct memory_plan *plan) {
    uint32_t n = 0;
    int err = 0;
    for (uint32_t i = 0; !err && i < m->page_count; i++)
        if (swap_page_has_chunk(&m->pages[i]))
            err = m->ops->chunk_save(m->dev, plan->hosts[n++], m->pages[i].chunk);
    for (uint32_t slot = 0; !err && slot < m->slot_end; slot++)
        if (swap_slot_has_chunk(&m->slots[slot]))
            err = m->ops->chunk_save(m->dev, plan->hosts[n++], m->slots[slot].chunk);
    return err;
}

static void let_chunks_go(struct memory *m, const struct memory_plan *plan) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->page_count && n < plan->host_count; i++) {
        struct page *p = &m->pages[i];
        if (!swap_page_has_chunk(p)) continue;
        struct dev_chunk *chunk = p->chunk;
        p->state = PAGE_SWAPPED;
        p->host = plan->hosts[n++];
        memory_note(m, i, p);
        m->ops->chunk_destroy(m->dev, chunk);
    }
    for (uint32_t slot = 0; slot < m->slot_end && n < plan->host_count; slot++) {
        struct slot *s = &m->slots[slot];
        if (!swap_slot_has_chunk(s)) continue;
        struct dev_chunk *chunk = s->chunk;
        s->state = SLOT_SPILLED_HOST;
        s->host = plan->hosts[n++];
        m->hosted++;
        memory_note_slot(m, slot);
        m->ops->chunk_destroy(m->dev, chunk);
    }
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

/* What goes is seen no longer; pages of the lane stay. */
static void plan_leave(const struct memory *m, struct memory_plan *plan) {
    for (uint32_t i = 0; i < m->page_count; i++) {
        const struct page *p = &m->pages[i];
        if (p->mapped && (p->state == PAGE_PRIVATE || p->state == PAGE_SEGMENT))
            memory_plan_add(plan, i, NULL);
    }
}

int memory_swap_out(struct memory *m, uint64_t *moved_bytes) {
    struct memory_plan plan;
    uint32_t count = count_chunks(m);
    *moved_bytes = 0;
    int err = memory_plan_begin(&plan, m, count + count_shown(m), 0, count);
    if (!err) err = save_chunks(m, &plan);
    if (!err) plan_leave(m, &plan);
    if (!err) err = leave_segments(m, moved_bytes);
    if (!err && (err = memory_plan_run(&plan))) enter_segments(m);
    if (err) return memory_plan_end(&plan, err);
    settle_segments(m);
    m->swapped = true;
    memory_note_loss(m);
    let_chunks_go(m, &plan);
    *moved_bytes += count * m->granule;
    return memory_plan_end(&plan, 0);
}

/* Into the plan's new chunks; what is shown of segments is there already. */
static int load_pages(struct memory *m, struct memory_plan *plan, uint64_t *moved_bytes) {
    uint32_t n = 0;
    int err = 0;
    for (uint32_t i = 0; !err && i < m->page_count; i++) {
        const struct page *p = &m->pages[i];
        if (p->state == PAGE_SEGMENT) memory_plan_add(plan, i, memory_shown(m, p));
        if (p->state != PAGE_SWAPPED) continue;
        memory_plan_add(plan, i, plan->made[n]);
        if (p->host) err = m->ops->chunk_load(m->dev, plan->made[n], p->host);
        if (p->host) *moved_bytes += m->granule;
        n++;
    }
    return err;
}

static uint32_t count_swapped(const struct memory *m) {
    uint32_t n = 0;
    for (uint32_t i = 0; m->partly && i < m->page_count; i++)
        n += m->pages[i].state == PAGE_SWAPPED;
    return m->partly ? n : m->persistent;
}

int memory_swap_in(struct memory *m, uint64_t *moved_bytes) {
    struct memory_plan plan;
    uint32_t count = m->swapped ? count_swapped(m) : 0, n = 0;
    *moved_bytes = 0;
    if (!m->swapped) return 0;
    int err = memory_plan_begin(&plan, m, count + count_shown(m), count, 0);
    if (!err) err = load_segments(m, moved_bytes);
    if (err) return memory_plan_end(&plan, err);
    err = load_pages(m, &plan, moved_bytes);
    if (!err) err = memory_plan_run(&plan);
    if (err) {
        settle_segments(m);
        return memory_plan_end(&plan, err);
    }
    enter_segments(m);
    for (uint32_t i = 0; n < count; i++) {
        struct page *p = &m->pages[i];
        if (p->state != PAGE_SWAPPED) continue;
        void *host = p->host;
        p->state = PAGE_PRIVATE;
        p->chunk = plan.made[n++];
        memory_note(m, i, p);
        memory_host_free(m, host);
    }
    m->swapped = m->partly = false;
    memory_note_loss(m);
    return memory_plan_end(&plan, 0);
}

bool memory_spilled(const struct memory *m) {
    return m->spilled > 0;
}

bool memory_swapped(const struct memory *m) {
    return m->swapped;
}
