/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies of pages, one spare each.
 */
#include "daemon/worker/memory/memory_saved.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/atomics.h"
#include "daemon/device/device_spares.h"
#include "daemon/worker/memory/memory_entry.h"
#include "daemon/worker/memory/memory_state.h"

/* The word of each page in the recovery state: the spare's number, or 0: the page had no bytes. */
#define SAVED_WORD(id) ((id) << 1 | 1u)

static _Atomic uint64_t *words_of(const struct memory *m, struct memory_recovery *e) {
    return e->pages + m->page_count;
}

/* ---- saving ---------------------------------------------------------------------------------- */

/* The place of a page's bytes: a chunk, host memory, or none. */
struct source {
    const struct dev_chunk *chunk;
    const void *host;
};

static struct source slot_source(const struct memory *m, uint32_t slot) {
    const struct slot *s = &m->slots[slot];
    if (s->state == SLOT_SPILLED) return (struct source){.chunk = s->chunk};
    if (s->state == SLOT_SPILLED_HOST) return (struct source){.host = s->host};
    bool ours = m->lane && m->lane->noted == m && slot < m->lane->count && memory_slot_own(m, slot);
    if (!ours) return (struct source){0};
    return (struct source){.chunk = m->lane->chunks[slot]};
}

static struct source source_of(const struct memory *m, const struct page *p) {
    switch (p->state) {
    case PAGE_PRIVATE: return (struct source){.chunk = p->chunk};
    case PAGE_SWAPPED: return (struct source){.host = p->host};
    case PAGE_LANE: return slot_source(m, p->slot);
    default: return (struct source){0};
    }
}

/* `host` may be the page's memory itself, since the client went back to the copies. */
static int fill(const struct memory *m, void *host, const struct source *from) {
    if (from->chunk) return m->ops->chunk_save(m->dev, host, from->chunk);
    if (from->host != host) memcpy(host, from->host, m->granule);
    return 0;
}

static int save_page(struct memory *m, uint32_t i, bool *had) {
    const struct source from = source_of(m, &m->pages[i]);
    *had = from.chunk || from.host;
    if (!*had) { /* no earlier worker's word may stay valid */
        atom_store_relaxed(&words_of(m, m->recovery_state)[i], 0);
        return 0;
    }
    if (!m->saved[i]) {
        m->saved[i] = m->ops->spares->spare_make(m->dev);
        m->saved_count += m->saved[i] != NULL;
    }
    int err = m->saved[i] ? fill(m, m->saved[i], &from) : -ENOMEM;
    uint64_t id = err ? 0 : m->ops->spares->spare_id(m->dev, m->saved[i]);
    if (!err) atom_store_relaxed(&words_of(m, m->recovery_state)[i], SAVED_WORD(id));
    return err;
}

static int make_list(struct memory *m) {
    if (!m->saved) m->saved = calloc(m->page_count, sizeof(*m->saved));
    return m->saved ? 0 : -ENOMEM;
}

int memory_save(struct memory *m, uint32_t *page, uint32_t most) {
    uint32_t count = 0;
    if (!m->ops->spares || !m->recovery_state) return -ENOTSUP;
    int err = make_list(m);
    for (; !err && *page < m->page_count && count < most; (*page)++) {
        bool had;
        err = save_page(m, *page, &had);
        count += had;
    }
    return err;
}

bool memory_save_over(const struct memory *m, uint32_t page) {
    return page >= m->page_count;
}

uint64_t memory_saved_bytes(const struct memory *m) {
    return m->saved_count * m->granule;
}

void memory_saved_finish(struct memory *m) {
    for (uint32_t i = 0; m->saved && i < m->page_count; i++) {
        if (!m->saved[i]) continue;
        if (m->recovery_state) atom_store_relaxed(&words_of(m, m->recovery_state)[i], 0);
        m->ops->spares->spare_free(m->dev, m->saved[i]);
    }
    free(m->saved);
    free(m->lent);
    m->saved = m->lent = NULL;
    m->saved_count = m->lent_count = 0;
}

/* ---- copies as the client's memory ----------------------------------------------------------- */

static int compare(const void *a, const void *b) {
    uintptr_t left = (uintptr_t) * (void *const *)a, right = (uintptr_t) * (void *const *)b;
    return (left > right) - (left < right);
}

int memory_saved_lend(struct memory *m) {
    uint32_t n = 0;
    m->lent = calloc(m->saved_count + 1, sizeof(*m->lent));
    if (!m->lent) return -ENOMEM;
    for (uint32_t i = 0; i < m->page_count; i++)
        if (m->saved[i]) m->lent[n++] = m->saved[i];
    qsort(m->lent, n, sizeof(*m->lent), compare);
    m->lent_count = n;
    return 0;
}

bool memory_saved_has(const struct memory *m, const void *host) {
    return m->lent_count && bsearch(&host, m->lent, m->lent_count, sizeof(*m->lent), compare);
}

/* ---- adopting -------------------------------------------------------------------------------- */

int memory_saved_adopt(struct memory *m, struct memory_recovery *e) {
    int err = m->ops->spares ? make_list(m) : -ENOTSUP;
    for (uint32_t i = 0; !err && i < m->page_count; i++) {
        uint64_t word = atom_load_relaxed(&words_of(m, e)[i]);
        if (!word) continue;
        err = word & 1 ? m->ops->spares->spare_adopt(m->dev, word >> 1, &m->saved[i]) : -EINVAL;
        m->saved_count += !err;
    }
    if (err) memory_saved_finish(m);
    return err;
}
