/* SPDX-License-Identifier: Apache-2.0
 *
 * Holdings of segments.
 */
#include "daemon/worker/memory/memory_holding.h"

#include <stdlib.h>

#include "daemon/worker/memory/memory_note.h"
#include "daemon/worker/memory/memory_state.h"
#include "daemon/worker/segments/segment.h"

struct holding *memory_holding_make(struct memory *m, struct list *among) {
    struct holding *h = calloc(1, sizeof(*h));
    if (h) list_append(among, &h->link);
    memory_note_loss(m);
    return h;
}

void memory_holding_free(struct memory *m, struct holding *h) {
    list_remove(&h->link);
    free(h);
    memory_note_loss(m);
}

void memory_holding_drop(struct memory *m, struct holding *h) {
    segment_drop(h->segment, h->away);
    memory_holding_free(m, h);
}

void memory_holding_hide(struct memory *m, struct page *p) {
    struct holding *h = p->holding;
    h->pages--;
    if (!h->placed) return;
    m->placed--;
    if (!h->pages) memory_holding_drop(m, h);
}

/* True when it will be closed next, and a part of it is already freed. */
static bool is_ending(const struct holding *h) {
    return h->ending && segment_ends(h->segment);
}

int memory_holding_in(struct memory *m, struct holding *h, uint32_t most, uint64_t *moved_bytes) {
    if (!h->away || is_ending(h)) return 0;
    int err = segment_load(h->segment, most, &m->part, moved_bytes);
    if (err) segment_settle(h->segment);
    if (err || !segment_whole(h->segment)) return err;
    segment_enter(h->segment);
    h->away = false;
    return 0;
}

/* Saves the segment, leaves it, and lets the last holder free it. */
int memory_holding_out(struct memory *m, struct holding *h, uint32_t most, uint64_t *moved_bytes) {
    struct segment *s = h->segment;
    uint32_t before = m->part;
    if (is_ending(h)) {
        m->part += segment_drop_ahead(s, h->away, most);
        return 0;
    }
    if (!h->away) {
        int err = segment_save(s, most, &m->part, moved_bytes);
        if (err) segment_settle(s);
        if (err || segment_saves(s)) return err;
        segment_leave(s);
        h->away = true;
    }
    m->part += segment_shed(s, most - (m->part - before));
    return 0;
}

bool memory_holding_left(const struct holding *h) {
    return is_ending(h) ? !h->segment->there : h->away && !segment_sheds(h->segment);
}
