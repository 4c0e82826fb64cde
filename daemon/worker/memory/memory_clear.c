/* SPDX-License-Identifier: Apache-2.0
 *
 * Bytes of one owner in a lane are cleared before another owner sees them. When a client gets the
 * turn, the part that it may use is cleared in steps; later pages beyond that at once. Chunks that
 * no other owner will see are not cleared, and nothing is cleared while a lane's jobs have one
 * owner.
 */
#include "daemon/worker/memory/memory_clear.h"

#include "daemon/worker/memory/memory_note.h"
#include "daemon/worker/memory/memory_state.h"

void memory_set_owner(struct memory *m, uint64_t owner) {
    m->owner = owner;
}

static bool is_foreign(const struct memory *m, uint32_t slot) {
    uint64_t owner = m->lane->owners[slot];
    return owner && owner != m->owner;
}

static bool is_shown(const struct memory *m, uint32_t slot) {
    return slot < m->slot_end && memory_slot_used(&m->slots[slot]);
}

static int clear_chunks(struct memory *m, uint32_t slot, uint32_t count) {
    struct memory_lane *lane = m->lane;
    int err = lane->ops->chunk_clear(lane->dev, lane->chunks + slot, count);
    if (err) return err;
    for (uint32_t i = 0; i < count; i++) {
        lane->owners[slot + i] = 0;
        if (is_shown(m, slot + i)) memory_note_slot(m, slot + i);
    }
    lane->cleared += count;
    m->cleared += count;
    return 0;
}

static void own_slot(struct memory *m, uint32_t slot) {
    if (memory_slot_own(m, slot)) return;
    m->lane->owners[slot] = m->owner;
    if (is_shown(m, slot)) memory_note_slot(m, slot);
}

/* Advances over slots that need no clearing. The lane may have shrunk. */
static void clear_in_passing(struct memory *m) {
    if (m->clear_end > m->lane->count) m->clear_end = m->lane->count;
    for (; m->clear_next < m->clear_end && !is_foreign(m, m->clear_next); m->clear_next++)
        if (is_shown(m, m->clear_next)) own_slot(m, m->clear_next);
}

void memory_clear_leave(struct memory *m) {
    struct memory_lane *lane = m->lane;
    if (!lane->holder || lane->holder == m) return;
    lane->holder->clear_next = lane->holder->clear_end = 0;
    lane->holder = NULL;
}

void memory_enter(struct memory *m, uint64_t bytes) {
    struct memory_lane *lane = m->lane;
    if (!lane) return;
    uint64_t pages = bytes / m->granule + (bytes % m->granule != 0);
    if (pages < m->slot_end) pages = m->slot_end;
    memory_clear_leave(m);
    lane->holder = m;
    memory_note_lane(m);
    m->clear_next = 0;
    m->clear_end = pages < lane->count ? (uint32_t)pages : lane->count;
    clear_in_passing(m);
}

bool memory_unclear(const struct memory *m) {
    return m->clear_next < m->clear_end;
}

int memory_clear(struct memory *m, uint32_t most) {
    if (m->lane) clear_in_passing(m);
    while (most && memory_unclear(m)) {
        uint32_t n = 1;
        while (n < most && m->clear_next + n < m->clear_end && is_foreign(m, m->clear_next + n))
            n++;
        int err = clear_chunks(m, m->clear_next, n);
        if (err) return err;
        most -= n;
        clear_in_passing(m);
    }
    return 0;
}

int memory_clear_slot(struct memory *m, uint32_t slot) {
    if (m->lane->holder != m) return 0;
    if (is_foreign(m, slot)) {
        /* memory_clear will come to it */
        if (slot >= m->clear_next && slot < m->clear_end) return 0;
        int err = clear_chunks(m, slot, 1);
        if (err) return err;
    }
    own_slot(m, slot);
    return 0;
}

uint64_t memory_cleared(const struct memory *m) {
    return m->cleared * m->granule;
}

uint64_t memory_lane_cleared(const struct memory_lane *lane) {
    return lane->cleared * lane->granule;
}
