/* SPDX-License-Identifier: Apache-2.0
 *
 * Validity of a savepoint, and the bytes of copies since then.
 */
#include "daemon/worker/recovery/savepoint.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "common/fdutil.h"

static uint64_t padded(uint64_t bytes) {
    return (bytes + 7) & ~(uint64_t)7;
}

void savepoint_attach(struct savepoint *k, struct savepoint_header *header, void *data,
                      struct wire_savepoint *shown) {
    *k = (struct savepoint){.header = header, .data = data, .shown = shown};
    list_init(&k->link);
}

void savepoint_finish(struct savepoint *k) {
    if (k->header) list_remove(&k->link);
    slotmap_finish(&k->by_op);
    *k = (struct savepoint){0};
}

/* ---- validity -------------------------------------------------------------------------------- */

static void show_reason(struct savepoint *k, enum savepoint_reason reason) {
    atom_store_relaxed(&k->shown->reason, reason);
    atom_store_relaxed(&k->shown->taken_ns, 0);
}

void savepoint_void(struct savepoint *k, enum savepoint_reason reason) {
    if (!k->header) return;
    atom_add(&k->voids, 1);
    /* a savepoint is being taken, unless one is whole */
    bool begun = atom_load_relaxed(&k->shown->reason) == SAVEPOINT_NONE;
    if (!begun && !atom_load_relaxed(&k->header->whole)) return;
    atom_store_release(&k->header->whole, 0);
    show_reason(k, reason);
}

void savepoint_never(struct savepoint *k, enum savepoint_reason reason) {
    if (!savepoint_possible(k)) return;
    atom_store_relaxed(&k->header->never, reason);
    atom_store_release(&k->header->whole, 0);
    show_reason(k, reason);
}

uint32_t savepoint_begin(struct savepoint *k) {
    atom_store_release(&k->header->whole, 0);
    atom_compiler_fence();
    madvise(k->data, atom_load_relaxed(&k->header->data_end), MADV_REMOVE); /* frees the memory */
    atom_store_relaxed(&k->header->data_end, 0);
    return atom_load_relaxed(&k->voids);
}

bool savepoint_commit(struct savepoint *k, const struct wire_completion *page, uint32_t voids,
                      uint64_t bytes) {
    struct savepoint_header *h = k->header;
    uint64_t now_ns = fdutil_now_ns();
    if (!savepoint_possible(k) || atom_load_relaxed(&k->voids) != voids) return false;
    for (uint32_t i = 0; i < atom_load_relaxed(&page->streams_end); i++)
        atom_store_relaxed(&h->done[i], atom_load_relaxed(WIRE_DONE(page, i)));
    atom_store_release(&h->whole, 1);
    k->due_ns = now_ns + k->every_ns;
    atom_store_relaxed(&k->shown->bytes, bytes);
    atom_store_relaxed(&k->shown->reason, SAVEPOINT_NONE);
    atom_store_relaxed(&k->shown->taken_ns, now_ns);
    return true;
}

/* ---- bytes of copies ------------------------------------------------------------------------- */

void *savepoint_room(struct savepoint *k, uint64_t bytes) {
    uint64_t end = atom_load_relaxed(&k->header->data_end);
    uint64_t left = SAVEPOINT_DATA_BYTES - end;
    if (left < sizeof(struct savepoint_data) || bytes > left - sizeof(struct savepoint_data)) {
        savepoint_void(k, SAVEPOINT_ROOM);
        return NULL;
    }
    return k->data + end + sizeof(struct savepoint_data);
}

void savepoint_keep(struct savepoint *k, uint32_t stream, uint64_t seq, uint64_t bytes) {
    uint64_t end = atom_load_relaxed(&k->header->data_end);
    struct savepoint_data *d = (void *)(k->data + end);
    *d = (struct savepoint_data){stream, seq, bytes};
    atom_store_release(&k->header->data_end, end + sizeof(*d) + padded(bytes));
}

/* ---- an earlier worker's savepoint ----------------------------------------------------------- */

static uint64_t hash_of(uint64_t stream, uint64_t seq) {
    return slotmap_hash((const uint64_t[]){stream, seq}, 2, 0);
}

/* The entry at this offset; NULL: it is malformed. */
static const struct savepoint_data *data_at(const struct savepoint *k, uint64_t at, uint64_t end) {
    const struct savepoint_data *d = (const void *)(k->data + at);
    if (end - at < sizeof(*d) || d->bytes > end - at - sizeof(*d) || d->stream >= WIRE_STREAMS)
        return NULL;
    return d;
}

/* Indexes the entries. The later one of two for one operation has the bytes that were copied last.
 */
static int index_data(struct savepoint *k) {
    uint64_t end = atom_load_relaxed(&k->header->data_end), count = 0;
    const struct savepoint_data *d;
    if (end > SAVEPOINT_DATA_BYTES || end % 8) return -EINVAL;
    for (uint64_t at = 0; at < end; at += sizeof(*d) + padded(d->bytes), count++)
        if (!(d = data_at(k, at, end))) return -EINVAL;
    int err = slotmap_reserve(&k->by_op, (uint32_t)count);
    if (err) return err;
    for (uint64_t at = 0; at < end; at += sizeof(*d) + padded(d->bytes)) {
        d = (const void *)(k->data + at);
        slotmap_add(&k->by_op, hash_of(d->stream, d->seq), (uint32_t)(at / 8));
    }
    return 0;
}

bool savepoint_open(struct savepoint *k, const struct wire_completion *page) {
    const struct savepoint_header *h = k->header;
    if (!savepoint_whole(k) || atom_load_relaxed(&h->granule_count) > SAVEPOINT_GRANULES)
        return false;
    for (uint32_t i = 0; i < atom_load_relaxed(&page->streams_end); i++)
        if (atom_load_relaxed(&h->done[i]) > atom_load_relaxed(WIRE_DONE(page, i))) return false;
    return index_data(k) == 0;
}

const void *savepoint_find(const struct savepoint *k, uint32_t stream, uint64_t seq,
                           uint64_t bytes) {
    struct slotmap_walk w = slotmap_walk(&k->by_op, hash_of(stream, seq));
    const void *found = NULL;
    for (uint32_t i; (i = slotmap_next(&k->by_op, &w)) != SLOTMAP_NONE;) {
        const struct savepoint_data *d = (const void *)(k->data + i * 8ull);
        if (d->stream == stream && d->seq == seq && d->bytes == bytes) found = d + 1;
    }
    return found;
}
