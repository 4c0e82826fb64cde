/* SPDX-License-Identifier: Apache-2.0
 *
 * Each store is one word, made after the recorded state has become true and before it ends. The
 * reader comes after the end of this process and sees its stores in their order.
 */
#include "daemon/worker/memory/memory_note.h"

#include "common/atomics.h"
#include "daemon/device/device_recovery.h"
#include "daemon/device/device_spares.h"
#include "daemon/worker/memory/memory_entry.h"
#include "daemon/worker/memory/memory_state.h"

static uint64_t chunk_entry(const struct memory *m, enum entry_kind kind,
                            const struct dev_chunk *chunk) {
    return kind | m->ops->recovery->chunk_id(m->dev, chunk) << ENTRY_CHUNK_SHIFT;
}

static uint64_t spare_entry(const struct memory *m, enum entry_kind kind, const void *host) {
    if (!m->ops->spares) return ENTRY_LOST;
    if (!host) return kind | ENTRY_ZEROS;
    return kind | m->ops->spares->spare_id(m->dev, host) << ENTRY_CHUNK_SHIFT;
}

static uint64_t slot_entry(const struct memory *m, uint32_t slot) {
    const struct slot *s = &m->slots[slot];
    if (s->state == SLOT_SPILLED) return chunk_entry(m, ENTRY_SPILLED, s->chunk);
    if (s->state == SLOT_SPILLED_HOST) return spare_entry(m, ENTRY_HOSTED, s->host);
    if (!m->lane || slot >= m->lane->count || !memory_slot_own(m, slot)) return ENTRY_DEAD;
    return chunk_entry(m, ENTRY_LANE, m->lane->chunks[slot]);
}

static uint64_t page_entry(const struct memory *m, const struct page *p) {
    uint64_t shown = p && p->shown ? ENTRY_SHOWN : 0;
    switch (p ? p->state : PAGE_NONE) {
    case PAGE_NONE: return ENTRY_NONE;
    case PAGE_PRIVATE: return chunk_entry(m, ENTRY_PRIVATE, p->chunk) | shown;
    case PAGE_SWAPPED: return spare_entry(m, ENTRY_SWAPPED, p->host) | shown;
    case PAGE_LANE: return slot_entry(m, p->slot);
    default: return ENTRY_LOST;
    }
}

void memory_note(struct memory *m, uint32_t page, const struct page *as) {
    if (!m->recovery_state) return;
    atom_compiler_fence(); /* bytes filled before are filled, and nothing is freed yet */
    atom_store_release(&m->recovery_state->pages[page], page_entry(m, as));
    atom_compiler_fence();
}

void memory_note_slot(struct memory *m, uint32_t slot) {
    if (!m->recovery_state) return;
    for (uint32_t i = m->slots[slot].page; i != MEMORY_NO_PAGE; i = m->pages[i].next)
        memory_note(m, i, &m->pages[i]);
}

void memory_note_slots(struct memory *m) {
    for (uint32_t slot = 0; m->recovery_state && slot < m->slot_end; slot++)
        memory_note_slot(m, slot);
}

void memory_note_changing(struct memory *m, uint32_t first, uint32_t count) {
    if (!m->recovery_state) return;
    atom_store_release(&m->recovery_state->changing, (uint64_t)first << 32 | count);
    atom_compiler_fence();
}

void memory_note_changed(struct memory *m) {
    memory_note_changing(m, 0, 0);
}

static void set_in_lane(struct memory *m, uint32_t in_lane) {
    if (!m->recovery_state) return;
    atom_compiler_fence();
    atom_store_release(&m->recovery_state->in_lane, in_lane);
    atom_compiler_fence();
}

void memory_note_no_lane(struct memory *m) {
    if (!m->lane || m->lane->noted != m) return;
    set_in_lane(m, 0);
    m->lane->noted = NULL;
}

void memory_note_lane(struct memory *m) {
    struct memory_lane *lane = m->lane;
    if (lane->noted == m) return;
    if (lane->noted) memory_note_no_lane(lane->noted);
    memory_note_slots(m); /* other clients may have used the lane */
    lane->noted = m;
    set_in_lane(m, 1);
}

void memory_note_apart(struct memory *m) {
    set_in_lane(m, 0);
}

static enum memory_loss find_loss(const struct memory *m) {
    if (!list_empty(&m->holdings) || !list_empty(&m->lane_holdings)) return MEMORY_SEGMENTS;
    bool host = m->swapped || m->hosted;
    return host && !m->ops->spares ? MEMORY_HOST : MEMORY_WHOLE;
}

void memory_note_loss(struct memory *m) {
    if (!m->recovery_state) return;
    atom_compiler_fence();
    atom_store_release(&m->recovery_state->loss, find_loss(m));
    atom_compiler_fence();
}

/* True for a wrong entry. A client without bytes in the lane may have old entries of the lane. */
static bool is_wrong(const struct memory *m, uint32_t page) {
    uint64_t word = atom_load_relaxed(&m->recovery_state->pages[page]);
    uint64_t right = page_entry(m, &m->pages[page]);
    bool of_lane = (word & ENTRY_KIND) == ENTRY_LANE || word == ENTRY_DEAD;
    bool is_of_lane = (right & ENTRY_KIND) == ENTRY_LANE || right == ENTRY_DEAD;
    if (of_lane && is_of_lane && !atom_load_relaxed(&m->recovery_state->in_lane)) return false;
    return word != right;
}

const char *memory_note_check(const struct memory *m) {
    const struct memory_recovery *e = m->recovery_state;
    if (!e) return NULL;
    if (atom_load_relaxed(&e->changing)) return "the recovery state's pages are changing";
    if (atom_load_relaxed(&e->loss) != find_loss(m))
        return "the recovery state records another loss";
    if (atom_load_relaxed(&e->in_lane) != (m->lane && m->lane->noted == m))
        return "the recovery state is wrong about the lane";
    for (uint32_t i = 0; i < m->page_count; i++)
        if (is_wrong(m, i)) return "an entry of the recovery state is wrong";
    return NULL;
}
