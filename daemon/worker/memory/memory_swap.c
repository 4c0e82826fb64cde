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

int memory_spill(struct memory *m, bool to_host, uint64_t *moved_bytes) {
    struct memory_plan plan;
    uint32_t count = m->lane ? m->ephemeral - m->spilled : 0, n = 0;
    *moved_bytes = 0;
    int err = memory_plan_begin(&plan, m, 0, to_host ? 0 : count, to_host ? count : 0);
    for (uint32_t slot = 0; !err && n < count; slot++) {
        if (m->slots[slot] == MEMORY_NO_PAGE) continue;
        if (m->pages[m->slots[slot]].state != PAGE_LANE) continue;
        if (memory_clear_own(m, slot)) /* else zeros, which is what it would see */
            err = to_host ? m->ops->chunk_save(m->dev, plan.hosts[n], m->lane->chunks[slot])
                          : m->ops->chunk_copy(m->dev, plan.made[n], m->lane->chunks[slot]);
        n++;
    }
    if (err) return memory_plan_end(&plan, err);
    n = 0;
    for (uint32_t slot = 0; n < count; slot++) {
        struct page *p = m->slots[slot] == MEMORY_NO_PAGE ? NULL : &m->pages[m->slots[slot]];
        if (!p || p->state != PAGE_LANE) continue;
        p->state = to_host ? PAGE_SPILLED_HOST : PAGE_SPILLED;
        if (to_host)
            p->host = plan.hosts[n++];
        else
            p->chunk = plan.made[n++];
    }
    m->spilled += n;
    *moved_bytes = n * m->granule;
    return memory_plan_end(&plan, 0);
}

/* The page of a slot when its bytes are elsewhere, else NULL. */
static struct page *swap_spilled_page(struct memory *m, uint32_t slot) {
    if (m->slots[slot] == MEMORY_NO_PAGE) return NULL;
    struct page *p = &m->pages[m->slots[slot]];
    return p->state == PAGE_LANE ? NULL : p;
}

int memory_restore(struct memory *m, uint64_t *moved_bytes) {
    struct page *p;
    *moved_bytes = 0;
    if (!m->spilled) return 0;
    if (!m->lane) return -EINVAL;
    for (uint32_t slot = 0; slot < m->slot_end; slot++) {
        if (!(p = swap_spilled_page(m, slot))) continue;
        struct dev_chunk *to = m->lane->chunks[slot];
        if (!memory_clear_own(m, slot)) m->lane->owners[slot] = MEMORY_MIXED;
        int err = p->state == PAGE_SPILLED ? m->ops->chunk_copy(m->dev, to, p->chunk)
                                           : m->ops->chunk_load(m->dev, to, p->host);
        if (err) return err; /* nothing is lost: what was spilled is still there */
        m->lane->owners[slot] = m->owner;
    }
    for (uint32_t slot = 0; slot < m->slot_end; slot++) {
        if (!(p = swap_spilled_page(m, slot))) continue;
        if (p->state == PAGE_SPILLED)
            m->ops->chunk_destroy(m->dev, p->chunk);
        else
            memory_host_free(m, p->host);
        p->state = PAGE_LANE;
        p->chunk = NULL;
    }
    *moved_bytes = m->spilled * m->granule;
    m->spilled = 0;
    return 0;
}

static bool swap_has_chunk(const struct page *p) {
    return p->state == PAGE_PRIVATE || p->state == PAGE_SPILLED;
}

static uint32_t count_chunks(const struct memory *m) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->page_count; i++)
        n += swap_has_chunk(&m->pages[i]);
    return n;
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

static int save_pages(struct memory *m, struct memory_plan *plan) {
    uint32_t n = 0;
    int err = 0;
    for (uint32_t i = 0; !err && i < m->page_count; i++) {
        const struct page *p = &m->pages[i];
        if (swap_has_chunk(p)) err = m->ops->chunk_save(m->dev, plan->hosts[n++], p->chunk);
        if (p->mapped && (p->state == PAGE_PRIVATE || p->state == PAGE_SEGMENT))
            memory_plan_add(plan, i, NULL);
    }
    return err;
}

int memory_swap_out(struct memory *m, uint64_t *moved_bytes) {
    struct memory_plan plan;
    uint32_t count = count_chunks(m), n = 0;
    *moved_bytes = 0;
    int err = memory_plan_begin(&plan, m, count + count_shown(m), 0, count);
    if (!err) err = save_pages(m, &plan);
    if (!err) err = leave_segments(m, moved_bytes);
    if (!err && (err = memory_plan_run(&plan))) enter_segments(m);
    if (err) return memory_plan_end(&plan, err);
    settle_segments(m);
    for (uint32_t i = 0; n < count; i++) {
        struct page *p = &m->pages[i];
        if (!swap_has_chunk(p)) continue;
        m->ops->chunk_destroy(m->dev, p->chunk);
        p->state = p->state == PAGE_PRIVATE ? PAGE_SWAPPED : PAGE_SPILLED_HOST;
        p->host = plan.hosts[n++];
    }
    m->swapped = true;
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

int memory_swap_in(struct memory *m, uint64_t *moved_bytes) {
    struct memory_plan plan;
    uint32_t count = m->swapped ? m->persistent : 0, n = 0;
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
        memory_host_free(m, p->host);
        p->state = PAGE_PRIVATE;
        p->chunk = plan.made[n++];
    }
    m->swapped = false;
    return memory_plan_end(&plan, 0);
}

bool memory_spilled(const struct memory *m) {
    return m->spilled > 0;
}

bool memory_swapped(const struct memory *m) {
    return m->swapped;
}
