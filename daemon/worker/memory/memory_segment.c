/* SPDX-License-Identifier: Apache-2.0
 *
 * A client's segments, and the pages that map them.
 */
#include "daemon/worker/memory/memory_segment.h"

#include <errno.h>
#include <stdlib.h>

#include "daemon/worker/memory/memory_holding.h"
#include "daemon/worker/memory/memory_lane.h"
#include "daemon/worker/memory/memory_note.h"
#include "daemon/worker/memory/memory_page.h"
#include "daemon/worker/memory/memory_plan.h"
#include "daemon/worker/memory/memory_state.h"
#include "daemon/worker/segments/segment.h"

/* ---- numbers --------------------------------------------------------------------------------- */

static struct holding *find(const struct memory *m, uint32_t id) {
    return id < m->number_room ? m->numbers[id] : NULL;
}

static int reach_number(struct memory *m, uint32_t id) {
    if (id < m->number_room) return 0;
    uint32_t room = id + id / 2 + 16;
    struct holding **numbers = realloc(m->numbers, room * sizeof(struct holding *));
    if (!numbers) return -ENOMEM;
    for (uint32_t i = m->number_room; i < room; i++)
        numbers[i] = NULL;
    m->numbers = numbers;
    m->number_room = room;
    return 0;
}

static int take_number(struct memory *m, uint32_t id, struct list *among, struct holding **out) {
    int err = find(m, id) ? -EEXIST : reach_number(m, id);
    if (err) return err;
    *out = memory_holding_make(m, among);
    return *out ? 0 : -ENOMEM;
}

static void give_number(struct memory *m, uint32_t id, struct holding *h, struct segment *s) {
    h->segment = s;
    h->away = true;
    m->numbers[id] = h;
    m->held += s->count;
}

/* 0: too many granules, or not whole ones. */
static uint64_t count_granules(const struct memory *m, uint64_t bytes) {
    uint64_t count = bytes / m->granule;
    return bytes % m->granule || count > m->page_count ? 0 : count;
}

int memory_segment_make(struct memory *m, uint32_t id, uint64_t bytes, uint32_t uid) {
    struct segment *s;
    struct holding *h;
    uint64_t count = count_granules(m, bytes);
    if (!count) return -EINVAL;
    int err = take_number(m, id, &m->holdings, &h);
    if (err) return err;
    err = segment_create(&s, m->ops, m->dev, (uint32_t)count, uid);
    if (err)
        memory_holding_free(m, h);
    else
        give_number(m, id, h, s);
    return err;
}

int memory_segment_make_lane(struct memory *m, uint32_t id, uint64_t bytes) {
    struct holding *h;
    uint64_t count = count_granules(m, bytes);
    if (!count) return -EINVAL;
    int err = take_number(m, id, &m->lane_holdings, &h);
    if (err) return err;
    err = memory_lane_take(m, (uint32_t)count, h);
    if (err)
        memory_holding_free(m, h);
    else
        m->numbers[id] = h;
    return err;
}

int memory_segment_open(struct memory *m, uint32_t id, struct segment *s) {
    struct holding *h;
    if (m->swapped) return find(m, id) ? -EEXIST : -EBUSY;
    int err = take_number(m, id, &m->holdings, &h);
    if (err) return err;
    segment_hold(s);
    give_number(m, id, h, s);
    return 0;
}

/* A segment of a lane is always complete. */
int memory_segment_fetch(struct memory *m, uint32_t id, uint32_t most) {
    struct holding *h = find(m, id);
    uint64_t moved;
    m->part = 0;
    if (!h) return -ENOENT;
    return h->segment && !m->swapped ? memory_holding_in(m, h, most, &moved) : 0;
}

bool memory_segment_whole(const struct memory *m, uint32_t id) {
    const struct holding *h = find(m, id);
    return h && (!h->segment || !h->away || m->swapped);
}

static void give_back(struct memory *m, struct holding *h) {
    if (h->segment) {
        memory_holding_drop(m, h);
        return;
    }
    memory_lane_give(m, h);
    memory_holding_free(m, h);
}

int memory_segment_close(struct memory *m, uint32_t id) {
    struct holding *h = find(m, id);
    if (!h) return -ENOENT;
    if (h->pages) return -EBUSY;
    m->numbers[id] = NULL;
    if (h->segment) m->held -= h->segment->count;
    give_back(m, h);
    return 0;
}

static uint32_t drop_ahead(struct holding *h, uint32_t most) {
    uint32_t n = segment_drop_ahead(h->segment, h->away, most);
    h->ending |= n > 0;
    return n;
}

uint32_t memory_segments_drop_ahead(struct memory *m, uint32_t most) {
    struct list *pos;
    uint32_t done = 0;
    for (pos = m->holdings.next; done < most && pos != &m->holdings; pos = pos->next)
        done += drop_ahead(list_entry(pos, struct holding, link), most - done);
    return done;
}

/* Skips a segment with pages: it may be written to, and is not closed. */
uint32_t memory_segment_drop_ahead(struct memory *m, uint32_t id, uint32_t most) {
    struct holding *h = find(m, id);
    return h && h->segment && !h->pages ? drop_ahead(h, most) : 0;
}

struct segment *memory_segment_find(const struct memory *m, uint32_t id) {
    const struct holding *h = find(m, id);
    return h && !h->ending ? h->segment : NULL;
}

uint64_t memory_held(const struct memory *m) {
    return m->held * m->granule;
}

/* ---- pages ----------------------------------------------------------------------------------- */

static void show_page(struct memory *m, struct page *p, struct holding *h, uint32_t index) {
    p->state = PAGE_SEGMENT;
    p->slot = index;
    p->holding = h;
    h->pages++;
    m->next_page = 0; /* it may have to be moved in */
    memory_note(m, (uint32_t)(p - m->pages), p);
}

static int show_segment(struct memory *m, struct holding *h, uint32_t at, uint32_t first,
                        uint32_t count) {
    struct memory_plan plan;
    if (h->ending || (h->away && !m->swapped)) return -EBUSY;
    int err = memory_plan_begin(&plan, m, count, 0, 0);
    for (uint32_t i = 0; !err && !m->swapped && i < count; i++)
        memory_plan_add(&plan, first + i, h->segment->chunks[at + i]);
    if (!err) err = memory_plan_run(&plan);
    for (uint32_t i = 0; !err && i < count; i++)
        show_page(m, &m->pages[first + i], h, at + i);
    return memory_plan_end(&plan, err);
}

int memory_segment_show(struct memory *m, uint32_t id, uint64_t from, uint64_t addr,
                        uint64_t bytes) {
    struct holding *h = find(m, id);
    uint32_t first, count, at = (uint32_t)(from / m->granule);
    int err = h ? memory_whole(m, addr, bytes, &first, &count) : -ENOENT;
    if (err) return err;
    bool upper = first >= m->page_count / 2, of_lane = !h->segment;
    uint32_t has = of_lane ? h->slot_count : h->segment->count;
    if (upper != of_lane || at > has || count > has - at) return -EINVAL;
    for (uint32_t i = 0; i < count; i++)
        if (m->pages[first + i].state != PAGE_NONE) return -EEXIST;
    return of_lane ? memory_lane_show(m, h, at, first, count)
                   : show_segment(m, h, at, first, count);
}

/* The segment that consists of exactly these pages, because they were shared before; NULL: there is
 * none. */
static struct segment *shared_before(const struct memory *m, uint32_t first, uint32_t count) {
    const struct holding *h = m->pages[first].holding;
    for (uint32_t i = 0; i < count; i++) {
        const struct page *p = &m->pages[first + i];
        if (p->state != PAGE_SEGMENT || p->holding != h || p->slot != i) return NULL;
    }
    return h->placed && h->segment->count == count ? h->segment : NULL;
}

static bool all_private(const struct memory *m, uint32_t first, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (m->pages[first + i].state != PAGE_PRIVATE) return false;
    return true;
}

/* Makes a segment of the pages' chunks; the pages stay mapped to them. */
static int adopt_pages(struct memory *m, uint32_t first, uint32_t count, uint32_t uid,
                       struct segment **out) {
    struct holding *h = memory_holding_make(m, &m->holdings);
    struct dev_chunk **chunks = calloc(count, sizeof(struct dev_chunk *));
    int err = h && chunks ? 0 : -ENOMEM;
    for (uint32_t i = 0; !err && i < count; i++)
        chunks[i] = m->pages[first + i].chunk;
    if (!err) err = segment_adopt(out, m->ops, m->dev, chunks, count, uid);
    for (uint32_t i = 0; !err && i < count; i++)
        show_page(m, &m->pages[first + i], h, i);
    free(chunks);
    if (err) {
        if (h) memory_holding_free(m, h);
        return err;
    }
    h->segment = *out;
    h->placed = true;
    m->persistent -= count;
    m->placed += count;
    return 0;
}

int memory_segment_share(struct memory *m, uint64_t addr, uint64_t bytes, uint32_t uid,
                         struct segment **out) {
    uint32_t first, count;
    int err = memory_whole(m, addr, bytes, &first, &count);
    if (err) return err;
    if (m->swapped) return -EBUSY;
    if ((*out = shared_before(m, first, count))) return 0;
    return all_private(m, first, count) ? adopt_pages(m, first, count, uid, out) : -EINVAL;
}

/* ---- dropping segments ----------------------------------------------------------------------- */

void memory_segment_drop_all(struct memory *m) {
    struct list *pos, *tmp;
    list_each_safe(pos, tmp, &m->holdings) give_back(m, list_entry(pos, struct holding, link));
    free(m->numbers);
    m->numbers = NULL;
    m->number_room = 0;
}

void memory_segment_leave_lane(struct memory *m) {
    struct list *pos, *tmp;
    list_each_safe(pos, tmp, &m->lane_holdings) give_back(m, list_entry(pos, struct holding, link));
    memory_lane_leave(m);
}
