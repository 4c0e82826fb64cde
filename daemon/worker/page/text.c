/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels' output. A record is {u32 bytes, u32 to_stderr} and its text, in bytes that wrap.
 *
 * A reader may be copying a record while it is overwritten. So text_ring.first is raised before the
 * overwrite, and the reader checks it again after its copy (shim/connection/text.c). The client can
 * write to a ring in the host window, but harms only its own text.
 */
#include "daemon/worker/page/text.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "common/atomics.h"

#define HEAD_BYTES (2 * sizeof(uint32_t))

void text_init(struct text *t) {
    *t = (struct text){0};
    pthread_mutex_init(&t->lock, NULL);
}

void text_attach(struct text *t, struct wire_completion *page, const struct wire_submission *sub,
                 void *ring) {
    t->page = page;
    t->sub = sub;
    t->ring = ring ? ring : page->text;
    t->bytes = ring ? atom_load_relaxed(&page->text_ring.bytes) : WIRE_TEXT_BYTES;
}

void text_finish(struct text *t) {
    pthread_mutex_destroy(&t->lock);
}

static void copy_into(char *ring, uint64_t ring_bytes, uint64_t at, const void *from,
                      size_t bytes) {
    size_t start = at % ring_bytes, first = ring_bytes - start;
    if (first > bytes) first = bytes;
    memcpy(ring + start, from, first);
    memcpy(ring, (const char *)from + first, bytes - first);
}

static void copy_from(const char *ring, uint64_t ring_bytes, uint64_t at, void *to, size_t bytes) {
    size_t start = at % ring_bytes, first = ring_bytes - start;
    if (first > bytes) first = bytes;
    memcpy(to, ring + start, first);
    memcpy((char *)to + first, ring, bytes - first);
}

/* ---- the oldest record; called with the lock held -------------------------------------------- */

/* The position of the first unread record. A read position that no correct reader stores is
 * ignored. */
static uint64_t first_of(const struct text *t, uint64_t written) {
    uint64_t first = atom_load_relaxed(&t->page->text_ring.first);
    uint64_t read = atom_load_acquire(&t->sub->text_read);
    return read - first <= written - first ? read : first;
}

/* The position behind the record at `at`, or behind all records if there is none. */
static uint64_t next_of(const struct text *t, uint64_t at, uint64_t written) {
    uint32_t head[2];
    if (written - at < sizeof(head)) return written;
    copy_from(t->ring, t->bytes, at, head, sizeof(head));
    uint64_t left = written - at - sizeof(head);
    return head[0] > left ? written : at + sizeof(head) + head[0];
}

/* Drops records until at most `keep` bytes are left, and publishes the new first before any
 * overwrite. */
static uint64_t drop_oldest(struct text *t, uint64_t written, uint64_t keep) {
    uint64_t first = first_of(t, written);
    while (written - first > keep)
        first = next_of(t, first, written);
    atom_store_release(&t->page->text_ring.first, first);
    atom_fence();
    return first;
}

/* ---- public functions ------------------------------------------------------------------------ */

void text_move(struct text *t, void *ring, uint64_t addr, uint64_t bytes) {
    struct wire_text_ring *r = &t->page->text_ring;
    char *to = ring ? ring : t->page->text;
    uint64_t to_bytes = ring ? bytes : WIRE_TEXT_BYTES;
    pthread_mutex_lock(&t->lock);
    uint64_t written = atom_load_relaxed(&t->page->text_written);
    uint64_t at = drop_oldest(t, written, to_bytes < t->bytes ? to_bytes : t->bytes);
    for (char piece[4096]; at < written;) {
        size_t n = written - at < sizeof(piece) ? written - at : sizeof(piece);
        copy_from(t->ring, t->bytes, at, piece, n);
        copy_into(to, to_bytes, at, piece, n);
        at += n;
    }
    t->ring = to;
    t->bytes = to_bytes;
    /* A reader that finds the ring's place changed after its copy copies again. */
    atom_store_relaxed(&r->bytes, ring ? bytes : 0);
    atom_store_release(&r->addr, ring ? addr : 0);
    pthread_mutex_unlock(&t->lock);
}

void text_put(struct text *t, int to_stderr, const char *text, size_t bytes) {
    uint32_t head[2] = {(uint32_t)bytes, to_stderr ? 1 : 0};
    pthread_mutex_lock(&t->lock);
    if (bytes > 0 && bytes <= t->bytes - HEAD_BYTES) {
        uint64_t written = atom_load_relaxed(&t->page->text_written);
        drop_oldest(t, written, t->bytes - sizeof(head) - bytes);
        copy_into(t->ring, t->bytes, written, head, sizeof(head));
        copy_into(t->ring, t->bytes, written + sizeof(head), text, bytes);
        atom_store_release(&t->page->text_written, written + sizeof(head) + bytes);
    }
    pthread_mutex_unlock(&t->lock);
}
