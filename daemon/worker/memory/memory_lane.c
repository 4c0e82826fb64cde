/* SPDX-License-Identifier: Apache-2.0
 *
 * Lanes: chunks that several clients see, each at its own addresses (Salus, section 3.3.1). What
 * outlives an iteration leaves the lane here.
 */
#include "daemon/worker/memory/memory_lane.h"

#include <errno.h>
#include <stdlib.h>

#include "common/err.h"
#include "daemon/worker/memory/memory_clear.h"
#include "daemon/worker/memory/memory_plan.h"
#include "daemon/worker/memory/memory_state.h"

int memory_lane_create(struct memory_lane **out, const struct dev_ops *ops, struct dev *dev) {
    struct dev_info info;
    struct memory_lane *lane = *out = calloc(1, sizeof(*lane));
    if (!lane) return -ENOMEM;
    ops->info(dev, &info);
    lane->ops = ops;
    lane->dev = dev;
    lane->granule = info.granularity_bytes;
    list_init(&lane->members);
    return 0;
}

static void trim_chunks(struct memory_lane *lane, uint32_t count) {
    while (lane->count > count)
        lane->ops->chunk_destroy(lane->dev, lane->chunks[--lane->count]);
}

/* At least so many chunks; on failure as many as before. */
static int reach_chunks(struct memory_lane *lane, uint32_t count) {
    uint32_t before = lane->count;
    if (count > lane->room) {
        uint32_t room = count + count / 2 + 16;
        struct dev_chunk **chunks = realloc(lane->chunks, room * sizeof(*chunks));
        if (!chunks) return -ENOMEM;
        lane->chunks = chunks;
        uint64_t *owners = realloc(lane->owners, room * sizeof(*owners));
        if (!owners) return -ENOMEM;
        lane->owners = owners;
        lane->room = room;
    }
    while (lane->count < count) {
        int err = lane->ops->chunk_create(lane->dev, &lane->chunks[lane->count]);
        if (err) {
            trim_chunks(lane, before);
            return err;
        }
        lane->owners[lane->count++] = 0;
    }
    return 0;
}

void memory_lane_destroy(struct memory_lane *lane) {
    if (!lane) return;
    trim_chunks(lane, 0);
    free(lane->chunks);
    free(lane->owners);
    free(lane);
}

int memory_lane_shrink(struct memory_lane *lane, uint64_t bytes) {
    uint64_t count = bytes / lane->granule + (bytes % lane->granule != 0);
    struct list *pos;
    list_each(pos, &lane->members) {
        const struct memory *m = list_entry(pos, struct memory, lane_link);
        if (m->slot_end > count) return -EBUSY;
    }
    if (count < lane->count) trim_chunks(lane, (uint32_t)count);
    return 0;
}

uint64_t memory_lane_bytes(const struct memory_lane *lane) {
    return lane->count * lane->granule;
}

void memory_lane_leave(struct memory *m) {
    list_remove(&m->lane_link);
    if (m->lane && m->lane->holder == m) m->lane->holder = NULL;
    m->clear_next = m->clear_end = 0;
    m->lane = NULL;
}

static int grow_slots(struct memory *m, uint32_t room) {
    if (room <= m->slot_room) return 0;
    room += room / 2 + 16;
    uint32_t *slots = realloc(m->slots, room * sizeof(*slots));
    if (!slots) return -ENOMEM;
    for (uint32_t i = m->slot_room; i < room; i++)
        slots[i] = MEMORY_NO_PAGE;
    m->slots = slots;
    m->slot_room = room;
    return 0;
}

/* The lowest free slots, in the order of the pages. There is room, see grow_slots. */
static void lane_take_slots(struct memory *m, uint32_t first, uint32_t count) {
    uint32_t slot = 0;
    for (uint32_t i = 0; i < count; i++) {
        while (m->slots[slot] != MEMORY_NO_PAGE)
            slot++;
        m->slots[slot] = first + i;
        m->pages[first + i].slot = slot;
        if (slot >= m->slot_end) m->slot_end = slot + 1;
    }
    m->ephemeral += count;
}

int memory_lane_back(struct memory *m, uint32_t first, uint32_t count) {
    struct memory_lane *lane = m->lane;
    if (!lane) return ERR_NO_MEMORY;
    int err = grow_slots(m, m->ephemeral + count);
    if (err) return err;
    struct memory_plan plan;
    uint32_t before = lane->count;
    lane_take_slots(m, first, count);
    err = memory_plan_begin(&plan, m, count, 0, 0);
    if (!err) err = reach_chunks(lane, m->slot_end);
    for (uint32_t i = 0; !err && i < count; i++) {
        memory_plan_add(&plan, first + i, lane->chunks[m->pages[first + i].slot]);
        err = memory_clear_slot(m, m->pages[first + i].slot);
    }
    if (!err) err = memory_plan_run(&plan);
    for (uint32_t i = 0; i < count; i++)
        if (err)
            memory_free_slot(m, m->pages[first + i].slot);
        else
            m->pages[first + i].state = PAGE_LANE;
    if (err) trim_chunks(lane, before);
    return memory_plan_end(&plan, err);
}

/* The pages in use move to the lane's first chunks, in the order they had. */
int memory_join(struct memory *m, struct memory_lane *lane) {
    struct memory_plan plan;
    uint32_t before = lane ? lane->count : 0, n = 0;
    int err = memory_plan_begin(&plan, m, m->ephemeral, 0, 0);
    if (!err && lane) err = reach_chunks(lane, m->ephemeral);
    for (uint32_t slot = 0; !err && slot < m->slot_end; slot++) {
        if (m->slots[slot] == MEMORY_NO_PAGE) continue;
        if (lane == m->lane && lane) err = memory_clear_slot(m, n);
        memory_plan_add(&plan, m->slots[slot], lane ? lane->chunks[n++] : NULL);
    }
    if (!err) err = memory_plan_run(&plan);
    if (err) {
        if (lane) trim_chunks(lane, before);
        return memory_plan_end(&plan, err);
    }
    uint32_t end = m->slot_end;
    m->slot_end = m->ephemeral;
    for (uint32_t slot = n = 0; slot < end; slot++) {
        uint32_t page = m->slots[slot];
        m->slots[slot] = MEMORY_NO_PAGE;
        if (page == MEMORY_NO_PAGE) continue;
        m->pages[page].slot = n;
        m->slots[n++] = page;
    }
    if (lane != m->lane) {
        memory_lane_leave(m);
        m->lane = lane;
        if (lane) list_append(&lane->members, &m->lane_link);
    }
    return memory_plan_end(&plan, 0);
}

static bool is_of_lane(const struct page *p) {
    return p->state == PAGE_LANE || p->state == PAGE_SPILLED || p->state == PAGE_SPILLED_HOST;
}

uint64_t memory_keep_need(const struct memory *m, uint64_t addr, uint64_t bytes) {
    uint32_t first, count, need = 0;
    if (memory_touched(m, addr, bytes, &first, &count)) return 0;
    for (uint32_t i = 0; i < count; i++)
        need += is_of_lane(&m->pages[first + i]);
    return need * m->granule;
}

/* Wherever the page's bytes are; `to` is zeros, as what it never wrote. */
static int lane_keep_bytes(const struct memory *m, const struct page *p, struct dev_chunk *to) {
    if (p->state == PAGE_SPILLED_HOST) return m->ops->chunk_load(m->dev, to, p->host);
    if (p->state == PAGE_SPILLED) return m->ops->chunk_copy(m->dev, to, p->chunk);
    if (!m->lane || !memory_clear_own(m, p->slot)) return 0;
    return m->ops->chunk_copy(m->dev, to, m->lane->chunks[p->slot]);
}

int memory_keep(struct memory *m, uint64_t addr, uint64_t bytes, uint64_t *copied_bytes) {
    struct memory_plan plan;
    uint32_t first, count, n = 0;
    uint64_t need = memory_keep_need(m, addr, bytes);
    *copied_bytes = 0;
    int err = memory_touched(m, addr, bytes, &first, &count);
    if (err || !need) return err;
    if (m->swapped) return -EBUSY;
    err = memory_plan_begin(&plan, m, count, (uint32_t)(need / m->granule), 0);
    for (uint32_t i = first; !err && i < first + count; i++) {
        if (!is_of_lane(&m->pages[i])) continue;
        memory_plan_add(&plan, i, plan.made[n]);
        err = lane_keep_bytes(m, &m->pages[i], plan.made[n++]);
    }
    if (!err) err = memory_plan_run(&plan);
    if (err) return memory_plan_end(&plan, err);
    for (uint32_t i = first, k = 0; k < n; i++) {
        struct page *p = &m->pages[i];
        if (!is_of_lane(p)) continue;
        memory_release(m, p);
        *p = (struct page){.state = PAGE_PRIVATE, .mapped = true, .chunk = plan.made[k++]};
    }
    m->persistent += n;
    m->kept += n;
    *copied_bytes = need;
    return memory_plan_end(&plan, 0);
}
