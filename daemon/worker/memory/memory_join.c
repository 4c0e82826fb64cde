/* SPDX-License-Identifier: Apache-2.0
 *
 * First all pages of slots are unmapped, so that slots can be moved; finally all are mapped again.
 */
#include "daemon/worker/memory/memory_join.h"

#include "daemon/worker/memory/memory.h"
#include "daemon/worker/memory/memory_clear.h"
#include "daemon/worker/memory/memory_lane.h"
#include "daemon/worker/memory/memory_note.h"
#include "daemon/worker/memory/memory_plan.h"
#include "daemon/worker/memory/memory_state.h"

/* ---- pages of slots -------------------------------------------------------------------------- */

/* A page of a slot, or the end. */
struct place {
    uint32_t slot, page;
};

static bool is_end(const struct memory *m, struct place at) {
    return at.slot >= m->slot_end;
}

/* The first page of a slot, from `at` on and including `at`, whose `mapped` has this value. */
static struct place find_place(const struct memory *m, struct place at, bool mapped) {
    for (;;) {
        while (at.page == MEMORY_NO_PAGE) {
            if (++at.slot >= m->slot_end) return at;
            at.page = m->slots[at.slot].page;
        }
        if (m->pages[at.page].mapped == mapped) return at;
        at.page = m->pages[at.page].next;
    }
}

static struct place first_place(const struct memory *m, bool mapped) {
    const struct place before = {UINT32_MAX, MEMORY_NO_PAGE};
    return m->slot_end ? find_place(m, before, mapped) : (struct place){0, MEMORY_NO_PAGE};
}

static struct place next_place(const struct memory *m, struct place at, bool mapped) {
    return find_place(m, (struct place){at.slot, m->pages[at.page].next}, mapped);
}

static uint32_t count_places(const struct memory *m, struct place at, bool mapped, uint32_t most) {
    uint32_t n = 0;
    for (; n < most && !is_end(m, at); n++)
        at = next_place(m, at, mapped);
    return n;
}

/* Maps or unmaps at most `most` pages: all of these, or none on failure. */
static int turn_pages(struct memory *m, bool show, uint32_t most) {
    struct memory_plan plan;
    struct place at = first_place(m, !show);
    uint32_t count = count_places(m, at, !show, most);
    if (!count) return 0;
    int err = memory_plan_begin(&plan, m, count, 0, 0);
    for (uint32_t n = 0; !err && n < count; n++, at = next_place(m, at, !show))
        memory_plan_add(&plan, at.page, show ? m->lane->chunks[at.slot] : NULL);
    if (!err) err = memory_plan_run(&plan);
    m->part += err ? 0 : count;
    return memory_plan_end(&plan, err);
}

/* ---- slots ----------------------------------------------------------------------------------- */

static bool has_gaps(const struct memory *m) {
    return m->slot_end > m->ephemeral;
}

/* Moves the used slots to the front, in order. */
static void pack_slots(struct memory *m) {
    uint32_t end = m->slot_end, n = 0;
    m->slot_end = m->ephemeral;
    for (uint32_t slot = 0; slot < end; slot++) {
        struct slot s = m->slots[slot];
        if (!memory_slot_used(&s)) continue;
        m->slots[slot] = (struct slot){.page = MEMORY_NO_PAGE};
        m->slots[n] = s;
        if (s.holding) s.holding->slots[s.index] = n;
        for (uint32_t page = s.page; page != MEMORY_NO_PAGE; page = m->pages[page].next)
            m->pages[page].slot = n;
        n++;
    }
}

/* Clears chunks at the front that had other owners' bytes. */
static int clear_front(struct memory *m) {
    int err = 0;
    for (uint32_t slot = 0; !err && slot < m->ephemeral; slot++)
        err = memory_clear_slot(m, slot);
    return err;
}

static void change_lane(struct memory *m, struct memory_lane *lane) {
    bool noted = m->lane && m->lane == lane && lane->noted == m;
    memory_note_no_lane(m);
    pack_slots(m);
    if (lane != m->lane) {
        memory_lane_leave(m);
        m->lane = lane;
        if (lane) list_append(&lane->members, &m->lane_link);
    }
    memory_note_slots(m);
    if (noted) memory_note_lane(m);
}

/* ---- in parts -------------------------------------------------------------------------------- */

static bool is_there(const struct memory *m, const struct memory_lane *lane) {
    return m->lane == lane && !(lane && has_gaps(m));
}

bool memory_joined(const struct memory *m, const struct memory_lane *lane) {
    return m->lane == lane && is_end(m, first_place(m, lane == NULL));
}

bool memory_packed(const struct memory *m) {
    return memory_joined(m, m->lane) && !has_gaps(m);
}

static int go_there(struct memory *m, struct memory_lane *lane, uint32_t most) {
    int err = turn_pages(m, false, most);
    if (err || m->part == most) return err;
    if (lane) err = memory_lane_reach(lane, m->ephemeral, most - m->part, &m->part);
    if (err || m->part == most) return err;
    if (lane && lane == m->lane) err = clear_front(m);
    if (!err) change_lane(m, lane);
    return err;
}

int memory_join(struct memory *m, struct memory_lane *lane, uint32_t most) {
    int err = 0;
    m->part = 0;
    if (!is_there(m, lane)) err = go_there(m, lane, most);
    /* back to the former state, as far as possible */
    if (err && m->lane) turn_pages(m, true, MEMORY_ALL);
    if (err || !lane || !is_there(m, lane) || m->part == most) return err;
    return turn_pages(m, true, most - m->part);
}
