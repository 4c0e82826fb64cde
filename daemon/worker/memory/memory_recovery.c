/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the entries of an earlier worker.
 */
#include "daemon/worker/memory/memory_recovery.h"

#include <errno.h>
#include <stdlib.h>

#include "common/atomics.h"
#include "common/fdutil.h"
#include "daemon/device/device_recovery.h"
#include "daemon/device/device_spares.h"
#include "daemon/worker/memory/memory_lane.h"
#include "daemon/worker/memory/memory_note.h"
#include "daemon/worker/memory/memory_page.h"
#include "daemon/worker/memory/memory_plan.h"
#include "daemon/worker/memory/memory_saved.h"
#include "daemon/worker/memory/memory_state.h"

size_t memory_recovery_bytes(uint32_t page_count) {
    return sizeof(struct memory_recovery) + 2ull * page_count * sizeof(uint64_t);
}

const char *memory_recovery_lacks(const struct memory_recovery *e) {
    static const char *const texts[MEMORY_LOSSES] = {
        [MEMORY_SEGMENTS] = "the job holds memory that other processes may share",
        [MEMORY_HOST] = "some of the job's memory was in host memory",
    };
    uint32_t loss = atom_load_acquire(&e->loss);
    return loss < MEMORY_LOSSES ? texts[loss] : "the record of the job's memory is damaged";
}

int memory_recovery_keep(struct memory *m, struct memory_recovery *e) {
    if (!m->ops->recovery) return -ENOTSUP;
    e->granule = m->granule;
    m->recovery_state = e;
    atom_store_release(&e->page_count, m->page_count);
    return 0;
}

/* ---- adopting -------------------------------------------------------------------------------- */

/* Walks over the pages that may have an entry; `page` is the latest. A window has a hundred
 * thousand pages, of which a client uses few. */
struct walk {
    int fd;
    uint64_t at; /* offset in that file of the first page's entry */
    uint32_t page, next, end, count;
};

static struct walk walk_of(const struct memory *m, int fd, uint64_t at) {
    return (struct walk){
        .fd = fd, .at = at + offsetof(struct memory_recovery, pages), .count = m->page_count};
}

/* Advances to the next written part of the file; where that is unknown, to all of it. False: there
 * is no more. */
static bool walk_on(struct walk *w) {
    const uint64_t word = sizeof(uint64_t), from = w->at + w->end * word;
    uint64_t at = from, end = UINT64_MAX;
    if (fdutil_written(w->fd, from, &at, &end) == -ENXIO) return false;
    at = (at - w->at) / word;
    end = (end - w->at) / word;
    w->next = (uint32_t)(at < w->count ? at : w->count);
    w->end = (uint32_t)(end < w->count ? end : w->count);
    return w->next < w->end;
}

static bool walk_next(struct walk *w) {
    if (w->next == w->count || (w->next == w->end && !walk_on(w))) return false;
    w->page = w->next++;
    return true;
}

/* The meaning of a word; ENTRY_LOST for a malformed one. */
struct entry {
    enum entry_kind kind;
    bool shown, zeros;
    uint64_t chunk;
    void *saved; /* the bytes are here; NULL: in the chunk or spare */
};

static bool is_changing(const struct memory_recovery *e, uint32_t page) {
    uint64_t changing = atom_load_relaxed(&e->changing);
    uint64_t first = changing >> 32, count = (uint32_t)changing;
    return page >= first && page - first < count;
}

static bool is_own(enum entry_kind kind) {
    return kind == ENTRY_PRIVATE || kind == ENTRY_SWAPPED;
}

/* True for a word that is possible for some page of this half. */
static bool is_right(const struct entry *e, uint64_t flags, bool upper) {
    bool has_number = e->kind != ENTRY_NONE && e->kind != ENTRY_DEAD && !e->zeros;
    uint64_t may =
        (is_own(e->kind) && upper ? ENTRY_SHOWN : 0) | (e->kind == ENTRY_SWAPPED ? ENTRY_ZEROS : 0);
    if (e->kind == ENTRY_LOST || flags & ~may || (e->chunk && !has_number)) return false;
    return upper || e->kind == ENTRY_NONE || is_own(e->kind);
}

static struct entry read_entry(const struct memory_recovery *e, uint32_t page, bool upper) {
    uint64_t word = atom_load_relaxed(&e->pages[page]);
    uint64_t flags = word & ((1u << ENTRY_CHUNK_SHIFT) - 1) & ~(uint64_t)ENTRY_KIND;
    struct entry entry = {.kind = word & ENTRY_KIND,
                          .shown = word & ENTRY_SHOWN,
                          .zeros = word & ENTRY_ZEROS,
                          .chunk = word >> ENTRY_CHUNK_SHIFT};
    if (is_changing(e, page)) return (struct entry){.kind = ENTRY_NONE};
    if (!is_right(&entry, flags, upper)) entry.kind = ENTRY_LOST;
    if (entry.kind == ENTRY_LANE)
        entry.kind = atom_load_relaxed(&e->in_lane) ? ENTRY_SPILLED : ENTRY_DEAD;
    return entry;
}

/* Changes the entry of a client that goes back: the page is present as before, but with its saved
 * bytes. */
static struct entry as_saved(const struct memory *m, struct entry entry, uint32_t page) {
    if (entry.kind == ENTRY_NONE || entry.kind == ENTRY_LOST) return entry;
    bool own = is_own(entry.kind), any = m->saved[page];
    entry.saved = any ? m->saved[page] : NULL;
    entry.zeros = own && !any;
    entry.kind = own ? ENTRY_SWAPPED : any ? ENTRY_HOSTED : ENTRY_DEAD;
    return entry;
}

static int adopt_host(struct memory *m, const struct entry *entry, void **host) {
    *host = entry->saved;
    if (entry->zeros || entry->saved) return 0;
    return m->ops->spares ? m->ops->spares->spare_adopt(m->dev, entry->chunk, host) : -EINVAL;
}

static int take_own(struct memory *m, uint32_t page, const struct entry *entry) {
    struct page *p = &m->pages[page];
    bool upper = page >= m->page_count / 2, swapped = entry->kind == ENTRY_SWAPPED;
    int err = swapped ? adopt_host(m, entry, &p->host)
                      : m->ops->recovery->chunk_adopt(m->dev, entry->chunk, &p->chunk);
    if (err) return err;
    p->state = swapped ? PAGE_SWAPPED : PAGE_PRIVATE;
    p->shown = entry->shown;
    m->persistent++;
    m->kept += upper;
    m->kept_shown += p->shown;
    m->away += swapped;
    m->swapped |= swapped;
    return 0;
}

/* Takes the bytes of a page of the lane, if it has any. */
static int take_spilled(struct memory *m, struct slot *s, const struct entry *entry) {
    bool hosted = entry->kind == ENTRY_HOSTED;
    int err = hosted ? adopt_host(m, entry, &s->host)
                     : m->ops->recovery->chunk_adopt(m->dev, entry->chunk, &s->chunk);
    if (err) return err;
    s->state = hosted ? SLOT_SPILLED_HOST : SLOT_SPILLED;
    m->spilled++;
    m->hosted += hosted;
    return 0;
}

/* Takes the next slot for the page, which stays unmapped until the client has a lane. */
static int take_slot(struct memory *m, uint32_t page, const struct entry *entry) {
    int err = memory_lane_room(m, m->slot_end + 1);
    if (!err && entry->kind != ENTRY_DEAD) err = take_spilled(m, &m->slots[m->slot_end], entry);
    if (err) return err;
    memory_show_slot(m, page, m->slot_end++, NULL);
    m->ephemeral++;
    return 0;
}

static int take_page(struct memory *m, const struct memory_recovery *e, uint32_t page, bool back) {
    struct entry entry = read_entry(e, page, page >= m->page_count / 2);
    if (back) entry = as_saved(m, entry, page);
    switch (entry.kind) {
    case ENTRY_NONE: return 0;
    case ENTRY_PRIVATE:
    case ENTRY_SWAPPED: return take_own(m, page, &entry);
    case ENTRY_SPILLED:
    case ENTRY_HOSTED:
    case ENTRY_DEAD: return take_slot(m, page, &entry);
    default: return -EINVAL;
    }
}

static int show_private(struct memory *m, struct walk w) {
    struct memory_plan plan;
    int err = memory_plan_begin(&plan, m, m->persistent, 0, 0);
    while (!err && walk_next(&w)) {
        const struct page *p = &m->pages[w.page];
        if (p->state == PAGE_PRIVATE) memory_plan_add(&plan, w.page, p->chunk);
    }
    if (!err) err = memory_plan_run(&plan);
    return memory_plan_end(&plan, err);
}

/* Pages that were the lane's now have chunks of their own. Each new entry describes the same bytes
 * as the old one; entries without bytes were not valid. A client that goes back will go back again,
 * whatever its entries say, until all is repeated. */
static void note_adopted(struct memory *m, struct walk w, bool back) {
    while (walk_next(&w)) {
        const struct page *p = &m->pages[w.page];
        if (is_changing(m->recovery_state, w.page) || (back && p->state == PAGE_SWAPPED))
            memory_note(m, w.page, p->state ? p : NULL);
    }
    memory_note_changed(m);
    memory_note_slots(m);
    memory_note_apart(m);
}

static void take_nothing(struct memory *m, struct walk w) {
    while (walk_next(&w))
        memory_release(m, &m->pages[w.page]);
    m->swapped = false;
}

/* True when nothing was ever recorded there. */
static bool is_empty(const struct memory_recovery *e, uint32_t page_count) {
    uint64_t any = atom_load_relaxed(&e->changing) | atom_load_relaxed(&e->loss) |
                   atom_load_relaxed(&e->in_lane);
    for (uint32_t i = 0; i < page_count; i++)
        any |= atom_load_relaxed(&e->pages[i]);
    return !any;
}

static int adopt(struct memory *m, struct memory_recovery *e, int fd, uint64_t at, bool back) {
    const struct walk all = walk_of(m, fd, at);
    uint64_t page_count = atom_load_acquire(&e->page_count);
    if (!m->ops->recovery) return -ENOTSUP;
    if (!page_count) return is_empty(e, m->page_count) ? memory_recovery_keep(m, e) : -EINVAL;
    if (page_count != m->page_count || e->granule != m->granule) return -EINVAL;
    if (atom_load_relaxed(&e->in_lane) > 1) return -EINVAL;
    if (memory_recovery_lacks(e)) return -EPERM;
    int err = 0;
    for (struct walk w = all; !err && walk_next(&w);)
        err = take_page(m, e, w.page, back);
    if (!err) err = show_private(m, all);
    if (err) {
        take_nothing(m, all);
        return err;
    }
    m->recovery_state = e;
    note_adopted(m, all, back);
    return 0;
}

int memory_adopt(struct memory *m, struct memory_recovery *e, int fd, uint64_t at) {
    return adopt(m, e, fd, at, false);
}

int memory_return(struct memory *m, struct memory_recovery *e, int fd, uint64_t at) {
    int err = m->saved ? memory_saved_lend(m) : -EINVAL;
    return err ? err : adopt(m, e, fd, at, true);
}
