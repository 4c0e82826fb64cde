/* SPDX-License-Identifier: Apache-2.0
 *
 * A client's pages: backing them and giving them back.
 */
#include "daemon/worker/memory/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "daemon/worker/memory/memory_plan.h"
#include "daemon/worker/memory/memory_state.h"

int memory_create(struct memory **out, const struct dev_ops *ops, struct dev *dev,
                  struct dev_space *space, const struct dev_windows *windows, uint64_t granule) {
    *out = NULL;
    if (!granule || windows->alloc_bytes % (2 * granule)) return -EINVAL;
    struct memory *m = calloc(1, sizeof *m);
    if (!m) return -ENOMEM;
    *m = (struct memory){.ops = ops, .dev = dev, .space = space};
    m->base = windows->dev_base;
    m->granule = granule;
    m->page_count = (uint32_t)(windows->alloc_bytes / granule);
    m->pages = calloc(m->page_count, sizeof *m->pages);
    list_init(&m->lane_link);
    if (!m->pages) {
        free(m);
        return -ENOMEM;
    }
    *out = m;
    return 0;
}

void memory_destroy(struct memory *m) {
    if (!m) return;
    for (uint32_t i = 0, n; i < m->page_count; i += n + 1) {
        for (n = 0; i + n < m->page_count && m->pages[i + n].mapped; n++)
            m->pages[i + n].mapped = false;
        if (n) m->ops->chunk_unmap(m->space, m->base + i * m->granule, n);
    }
    for (uint32_t i = 0; i < m->page_count; i++)
        memory_release(m, &m->pages[i]);
    memory_lane_leave(m);
    free(m->slots);
    free(m->pages);
    free(m);
}

/* Mapped one by one, since they come and go one by one; not from malloc, which would keep them. */
void *memory_host_make(const struct memory *m) {
    void *p = mmap(NULL, m->granule, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

void memory_host_free(const struct memory *m, void *host) {
    if (host) munmap(host, m->granule);
}

void memory_release(struct memory *m, struct page *page) {
    switch (page->state) {
    case PAGE_NONE: return;
    case PAGE_PRIVATE: m->ops->chunk_destroy(m->dev, page->chunk); break;
    case PAGE_SWAPPED: memory_host_free(m, page->host); break;
    case PAGE_LANE: break;
    case PAGE_SPILLED: m->ops->chunk_destroy(m->dev, page->chunk); break;
    case PAGE_SPILLED_HOST: memory_host_free(m, page->host); break;
    }
    if (page->state == PAGE_PRIVATE || page->state == PAGE_SWAPPED) {
        m->persistent--;
    } else {
        m->spilled -= page->state != PAGE_LANE;
        memory_lane_free_slot(m, page->slot);
    }
    *page = (struct page){.state = PAGE_NONE};
}

int memory_touched(const struct memory *m, uint64_t addr, uint64_t bytes, uint32_t *first,
                   uint32_t *count) {
    uint64_t window = m->page_count * m->granule, offset = addr - m->base;
    if (addr < m->base || offset > window || bytes > window - offset) return -EINVAL;
    *first = (uint32_t)(offset / m->granule);
    *count = bytes ? (uint32_t)((offset + bytes - 1) / m->granule) - *first + 1 : 0;
    return 0;
}

/* Whole pages of one half. */
static int memory_whole(const struct memory *m, uint64_t addr, uint64_t bytes, uint32_t *first,
                        uint32_t *count) {
    uint32_t half = m->page_count / 2;
    int err = memory_touched(m, addr, bytes, first, count);
    if (err || !bytes || (addr - m->base) % m->granule || bytes % m->granule) return -EINVAL;
    bool straddles = *first < half && half - *first < *count;
    return straddles ? -EINVAL : 0;
}

static int memory_back_private(struct memory *m, uint32_t first, uint32_t count) {
    struct memory_plan plan;
    int err = memory_plan_begin(&plan, m, count, count, 0);
    for (uint32_t i = 0; !err && i < count; i++)
        memory_plan_add(&plan, first + i, plan.made[i]);
    if (!err) err = memory_plan_run(&plan);
    for (uint32_t i = 0; !err && i < count; i++) {
        m->pages[first + i].state = PAGE_PRIVATE;
        m->pages[first + i].chunk = plan.made[i];
    }
    return memory_plan_end(&plan, err);
}

int memory_back(struct memory *m, uint64_t addr, uint64_t bytes) {
    uint32_t first, count;
    int err = memory_whole(m, addr, bytes, &first, &count);
    if (err) return err;
    for (uint32_t i = 0; i < count; i++)
        if (m->pages[first + i].state != PAGE_NONE) return -EEXIST;
    if (first >= m->page_count / 2) return memory_lane_back(m, first, count);
    if (!m->swapped) err = memory_back_private(m, first, count);
    for (uint32_t i = 0; m->swapped && i < count; i++) /* zeros, without taking anything */
        m->pages[first + i].state = PAGE_SWAPPED;
    if (!err) m->persistent += count;
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
    for (uint32_t i = 0; !err && i < count; i++)
        memory_release(m, &m->pages[first + i]);
    return memory_plan_end(&plan, err);
}

uint64_t memory_persistent(const struct memory *m) {
    return m->persistent * m->granule;
}

uint64_t memory_ephemeral(const struct memory *m) {
    return m->ephemeral * m->granule;
}

bool memory_spilled(const struct memory *m) {
    return m->spilled > 0;
}

bool memory_swapped(const struct memory *m) {
    return m->swapped;
}
