/* SPDX-License-Identifier: Apache-2.0
 *
 * Lanes: chunks that several clients map, each at its own addresses (Salus, section 3.3.1).
 * Survivors leave the lane here.
 */
#include "daemon/worker/memory/memory_lane.h"

#include <errno.h>
#include <stdlib.h>

#include "common/err.h"
#include "daemon/worker/memory/memory_clear.h"
#include "daemon/worker/memory/memory_note.h"
#include "daemon/worker/memory/memory_page.h"
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

/* ---- chunks ---------------------------------------------------------------------------------- */

static void trim_chunks(struct memory_lane *lane, uint32_t count) {
    while (lane->count > count)
        lane->ops->chunk_destroy(lane->dev, lane->chunks[--lane->count]);
}

/* Extends the lane to at least `count` chunks; on failure it has as many as before. */
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

/* Trims the lane to its members' slots. */
static void fit_chunks(struct memory_lane *lane) {
    uint32_t end = 0;
    struct list *pos;
    list_each(pos, &lane->members) {
        const struct memory *m = list_entry(pos, struct memory, lane_link);
        if (m->slot_end > end) end = m->slot_end;
    }
    trim_chunks(lane, end);
}

int memory_lane_reach(struct memory_lane *lane, uint32_t count, uint32_t most, uint32_t *made) {
    uint32_t before = lane->count;
    if (count <= before) return 0;
    int err = reach_chunks(lane, count - before > most ? before + most : count);
    if (err) fit_chunks(lane);
    *made += err ? 0 : lane->count - before;
    return err;
}

void memory_lane_destroy(struct memory_lane *lane) {
    if (!lane) return;
    trim_chunks(lane, 0);
    free(lane->chunks);
    free(lane->owners);
    free(lane);
}

int memory_lane_shrink(struct memory_lane *lane, uint64_t bytes, uint32_t most) {
    uint64_t count = bytes / lane->granule + (bytes % lane->granule != 0);
    struct list *pos;
    list_each(pos, &lane->members) {
        const struct memory *m = list_entry(pos, struct memory, lane_link);
        if (m->slot_end > count) return -EBUSY;
    }
    if (count >= lane->count) return 0;
    trim_chunks(lane, lane->count - count > most ? lane->count - most : (uint32_t)count);
    return 0;
}

uint64_t memory_lane_bytes(const struct memory_lane *lane) {
    return lane->count * lane->granule;
}

/* ---- slots ----------------------------------------------------------------------------------- */

void memory_lane_leave(struct memory *m) {
    memory_note_no_lane(m);
    list_remove(&m->lane_link);
    if (m->lane && m->lane->holder == m) m->lane->holder = NULL;
    m->clear_next = m->clear_end = 0;
    m->lane = NULL;
}

int memory_lane_room(struct memory *m, uint32_t room) {
    if (room <= m->slot_room) return 0;
    room += room / 2 + 16;
    struct slot *slots = realloc(m->slots, room * sizeof(*slots));
    if (!slots) return -ENOMEM;
    for (uint32_t i = m->slot_room; i < room; i++)
        slots[i] = (struct slot){.page = MEMORY_NO_PAGE};
    m->slots = slots;
    m->slot_room = room;
    return 0;
}

/* Gives the holding the lowest free slots, in order. There is room, see memory_lane_room. */
static void take_slots(struct memory *m, struct holding *h) {
    uint32_t slot = 0;
    for (uint32_t i = 0; i < h->slot_count; i++) {
        while (memory_slot_used(&m->slots[slot]))
            slot++;
        m->slots[slot].holding = h;
        m->slots[slot].index = i;
        h->slots[i] = slot;
        if (slot >= m->slot_end) m->slot_end = slot + 1;
    }
    m->ephemeral += h->slot_count;
    m->lane_held += h->slot_count;
}

void memory_lane_give(struct memory *m, struct holding *h) {
    for (uint32_t i = 0; i < h->slot_count; i++) {
        m->slots[h->slots[i]].holding = NULL;
        if (!memory_slot_used(&m->slots[h->slots[i]])) memory_free_slot(m, h->slots[i]);
    }
    m->lane_held -= h->slot_count;
    free(h->slots);
}

int memory_lane_take(struct memory *m, uint32_t count, struct holding *h) {
    struct memory_lane *lane = m->lane;
    if (!lane) return ERR_NO_MEMORY;
    uint32_t before = lane->count;
    int err = memory_lane_room(m, m->ephemeral + count);
    if (err) return err;
    if (!(h->slots = calloc(count, sizeof(*h->slots)))) return -ENOMEM;
    h->slot_count = count;
    take_slots(m, h);
    err = reach_chunks(lane, m->slot_end);
    for (uint32_t i = 0; !err && i < count; i++)
        err = memory_clear_slot(m, h->slots[i]);
    if (!err) return 0;
    memory_lane_give(m, h);
    trim_chunks(lane, before);
    return err;
}

int memory_lane_show(struct memory *m, struct holding *h, uint32_t at, uint32_t first,
                     uint32_t count) {
    struct memory_plan plan;
    int err = memory_plan_begin(&plan, m, count, 0, 0);
    for (uint32_t i = 0; !err && m->lane && i < count; i++)
        memory_plan_add(&plan, first + i, m->lane->chunks[h->slots[at + i]]);
    if (!err) err = memory_plan_run(&plan);
    for (uint32_t i = 0; !err && i < count; i++)
        memory_show_slot(m, first + i, h->slots[at + i], h);
    return memory_plan_end(&plan, err);
}

/* Backs pages through a temporary holding of slots; afterwards only the pages have the slots. */
int memory_lane_back(struct memory *m, uint32_t first, uint32_t count) {
    struct holding own = {.segment = NULL};
    uint32_t before = m->lane ? m->lane->count : 0;
    int err = memory_lane_take(m, count, &own);
    if (err) return err;
    err = memory_lane_show(m, &own, 0, first, count);
    for (uint32_t i = 0; !err && i < count; i++) {
        m->pages[first + i].holding = NULL;
        m->pages[first + i].shown = false;
    }
    memory_lane_give(m, &own);
    if (err) trim_chunks(m->lane, before);
    return err;
}

/* Free slots are used first. */
int memory_lane_ahead(struct memory *m, uint64_t bytes, uint32_t most) {
    uint64_t end = m->ephemeral + bytes / m->granule;
    m->part = 0;
    if (!m->lane || end > m->page_count) return 0; /* the later request will fail */
    return memory_lane_reach(m->lane, (uint32_t)end, most, &m->part);
}

bool memory_in_lane(const struct memory *m) {
    return m->lane != NULL;
}

/* ---- survivors ------------------------------------------------------------------------------- */

uint64_t memory_keep_need(const struct memory *m, uint64_t addr, uint64_t bytes) {
    uint32_t first, count, need = 0;
    if (memory_touched(m, addr, bytes, &first, &count)) return 0;
    for (uint32_t i = 0; i < count; i++)
        need += m->pages[first + i].state == PAGE_LANE;
    return need * m->granule;
}

/* Copies the slot's bytes, wherever they are. `to` is zeros, and stays so for a page that was never
 * written. */
static int lane_keep_bytes(const struct memory *m, uint32_t slot, struct dev_chunk *to) {
    const struct slot *s = &m->slots[slot];
    if (s->state == SLOT_SPILLED_HOST) return m->ops->chunk_load(m->dev, to, s->host);
    if (s->state == SLOT_SPILLED) return m->ops->chunk_copy(m->dev, to, s->chunk);
    if (!m->lane || !memory_slot_own(m, slot)) return 0;
    return m->ops->chunk_copy(m->dev, to, m->lane->chunks[slot]);
}

/* Turns the page into a private one with this chunk. */
static void keep_page(struct memory *m, struct page *p, struct dev_chunk *chunk) {
    bool shown = p->shown;
    struct page kept = {.state = PAGE_PRIVATE, .mapped = true, .shown = shown, .chunk = chunk};
    memory_note(m, (uint32_t)(p - m->pages), &kept);
    memory_give_back(m, p);
    *p = kept;
    m->persistent++;
    m->kept++;
    m->kept_shown += shown;
}

int memory_keep(struct memory *m, uint64_t addr, uint64_t bytes, uint32_t most,
                uint64_t *copied_bytes) {
    struct memory_plan plan;
    uint32_t first, count, n = 0, need = (uint32_t)(memory_keep_need(m, addr, bytes) / m->granule);
    *copied_bytes = 0;
    int err = memory_touched(m, addr, bytes, &first, &count);
    if (err || !need) return err;
    if (m->swapped) return -EBUSY;
    if (need > most) need = most;
    err = memory_plan_begin(&plan, m, need, need, 0);
    for (uint32_t i = first; !err && n < need; i++) {
        if (m->pages[i].state != PAGE_LANE) continue;
        memory_plan_add(&plan, i, plan.made[n]);
        err = lane_keep_bytes(m, m->pages[i].slot, plan.made[n++]);
    }
    if (!err) err = memory_plan_run(&plan);
    if (err) return memory_plan_end(&plan, err);
    for (uint32_t i = first, k = 0; k < n; i++)
        if (m->pages[i].state == PAGE_LANE) keep_page(m, &m->pages[i], plan.made[k++]);
    *copied_bytes = need * m->granule;
    return memory_plan_end(&plan, 0);
}
