/* SPDX-License-Identifier: Apache-2.0
 *
 * Backs a client's pages and frees them.
 */
#include "daemon/worker/memory/memory.h"

#include <errno.h>
#include <stdlib.h>

#include "daemon/worker/memory/memory_lane.h"
#include "daemon/worker/memory/memory_note.h"
#include "daemon/worker/memory/memory_page.h"
#include "daemon/worker/memory/memory_plan.h"
#include "daemon/worker/memory/memory_saved.h"
#include "daemon/worker/memory/memory_segment.h"
#include "daemon/worker/memory/memory_state.h"

int memory_create(struct memory **out, const struct dev_ops *ops, struct dev *dev,
                  struct dev_space *space, const struct dev_windows *windows, uint64_t granule) {
    *out = NULL;
    if (!granule || windows->alloc_bytes % (2 * granule)) return -EINVAL;
    struct memory *m = calloc(1, sizeof(*m));
    if (!m) return -ENOMEM;
    *m = (struct memory){.ops = ops, .dev = dev, .space = space};
    m->base = windows->dev_base;
    m->granule = granule;
    m->page_count = (uint32_t)(windows->alloc_bytes / granule);
    m->pages = calloc(m->page_count, sizeof(*m->pages));
    list_init(&m->lane_link);
    list_init(&m->holdings);
    list_init(&m->lane_holdings);
    if (!m->pages) {
        free(m);
        return -ENOMEM;
    }
    *out = m;
    return 0;
}

/* Number of pages from `page` on, at most `most`, that are in use and all mapped, or all unmapped.
 */
static uint32_t count_alike(const struct memory *m, uint32_t page, uint32_t most) {
    uint32_t n = 0;
    while (n < most && page + n < m->page_count && m->pages[page + n].state != PAGE_NONE &&
           m->pages[page + n].mapped == m->pages[page].mapped)
        n++;
    return n;
}

static void drop_pages(struct memory *m, uint32_t page, uint32_t count) {
    if (m->pages[page].mapped) m->ops->chunk_unmap(m->space, m->base + page * m->granule, count);
    for (uint32_t i = 0; i < count; i++) {
        m->pages[page + i].mapped = false;
        memory_release(m, &m->pages[page + i]);
    }
}

/* Drops pages from `next_page` to `end`. */
static uint32_t drop_until(struct memory *m, uint32_t end, uint32_t most) {
    uint32_t dropped = 0;
    while (m->next_page < end && dropped < most) {
        uint32_t n = count_alike(m, m->next_page, most - dropped);
        if (n) drop_pages(m, m->next_page, n);
        dropped += n;
        m->next_page += n ? n : 1;
    }
    return dropped;
}

void memory_end(struct memory *m) {
    m->next_page = m->page_count / 2;
}

/* Drops the upper half first, so that the client leaves the lane. */
uint32_t memory_drop(struct memory *m, uint32_t most) {
    uint32_t half = m->page_count / 2, dropped = 0;
    if (m->next_page >= half) {
        dropped = drop_until(m, m->page_count, most);
        if (dropped == most) return dropped;
        memory_segment_leave_lane(m);
        m->next_page = 0;
    }
    return dropped + drop_until(m, half, most - dropped);
}

void memory_destroy(struct memory *m) {
    if (!m) return;
    memory_end(m);
    memory_drop(m, UINT32_MAX);
    memory_segment_drop_all(m);
    memory_saved_finish(m);
    free(m->slots);
    free(m->pages);
    free(m);
}

static int back_private(struct memory *m, uint32_t first, uint32_t count) {
    struct memory_plan plan;
    int err = memory_plan_begin(&plan, m, count, count, 0);
    for (uint32_t i = 0; !err && i < count; i++)
        memory_plan_add(&plan, first + i, plan.made[i]);
    if (!err) err = memory_plan_run(&plan);
    for (uint32_t i = 0; !err && i < count; i++) {
        m->pages[first + i].state = PAGE_PRIVATE;
        m->pages[first + i].chunk = plan.made[i];
        memory_note(m, first + i, &m->pages[first + i]);
    }
    return memory_plan_end(&plan, err);
}

static int back_persistent(struct memory *m, uint32_t first, uint32_t count) {
    int err = m->swapped ? 0 : back_private(m, first, count);
    for (uint32_t i = 0; m->swapped && i < count; i++) { /* zeros, without using memory */
        m->pages[first + i].state = PAGE_SWAPPED;
        memory_note(m, first + i, &m->pages[first + i]);
    }
    if (m->swapped) {
        m->away += count;
        m->next_page = 0;
    }
    if (!err) m->persistent += count;
    return err;
}

uint32_t memory_part(const struct memory *m) {
    return m->part;
}

uint64_t memory_in_use(const struct memory *m, uint64_t addr, uint64_t bytes) {
    uint32_t first, count, n = 0;
    if (memory_whole(m, addr, bytes, &first, &count)) return 0;
    for (uint32_t i = 0; i < count; i++)
        n += m->pages[first + i].state != PAGE_NONE;
    return n * m->granule;
}

int memory_back(struct memory *m, uint64_t addr, uint64_t bytes) {
    uint32_t first, count;
    int err = memory_whole(m, addr, bytes, &first, &count);
    if (err) return err;
    for (uint32_t i = 0; i < count; i++)
        if (m->pages[first + i].state != PAGE_NONE) return -EEXIST;
    memory_note_changing(m, first, count);
    err = first < m->page_count / 2 ? back_persistent(m, first, count)
                                    : memory_lane_back(m, first, count);
    memory_note_changed(m);
    return err;
}

int memory_unback(struct memory *m, uint64_t addr, uint64_t bytes) {
    struct memory_plan plan;
    uint32_t first, count;
    int err = memory_whole(m, addr, bytes, &first, &count);
    if (err) return err;
    for (uint32_t i = 0; i < count; i++)
        if (m->pages[first + i].state == PAGE_NONE) return -ENOENT;
    err = memory_plan_begin(&plan, m, count, 0, 0);
    for (uint32_t i = 0; !err && i < count; i++)
        memory_plan_add(&plan, first + i, NULL);
    if (!err) err = memory_plan_run(&plan);
    if (!err) memory_note_changing(m, first, count);
    for (uint32_t i = 0; !err && i < count; i++)
        memory_release(m, &m->pages[first + i]);
    memory_note_changed(m);
    return memory_plan_end(&plan, err);
}

uint64_t memory_persistent(const struct memory *m) {
    return (m->persistent + m->placed + m->held) * m->granule;
}

uint64_t memory_ephemeral(const struct memory *m) {
    return m->ephemeral * m->granule;
}

uint64_t memory_backed_p(const struct memory *m) {
    return (m->persistent + m->placed - m->kept) * m->granule;
}

uint64_t memory_backed_e(const struct memory *m) {
    return (m->ephemeral - m->lane_held + m->kept - m->kept_shown) * m->granule;
}
