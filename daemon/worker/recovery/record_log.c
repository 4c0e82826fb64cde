/* SPDX-License-Identifier: Apache-2.0
 *
 * Appends to the log, and walks through it.
 */
#include "daemon/worker/recovery/record_log.h"

#include <string.h>

#include "common/atomics.h"
#include "daemon/device/device.h"
#include "daemon/device/device_recovery.h"
#include "proto/wire/record.h"

static uint64_t padded(uint64_t bytes) {
    return (bytes + 7) & ~7ull;
}

static uint64_t entry_bytes(const struct log_entry *e) {
    return sizeof(*e) + padded(e->bytes) + padded(e->tail_bytes);
}

static uint64_t end_of(const struct log *l) {
    return atom_load_relaxed(&l->header->end);
}

void record_log_attach(struct log *l, struct log_header *header, void *memory, uint64_t room) {
    *l = (struct log){.header = header,
                      .memory = memory,
                      .room = room,
                      .limit = RECORD_LOG_FIRST_LIMIT,
                      .latest = UINT64_MAX};
}

struct log_entry *record_log_reserve(struct log *l, const void *record, uint32_t bytes,
                                     uint64_t tail_bytes) {
    uint64_t end = end_of(l), need = sizeof(struct log_entry) + padded(bytes) + padded(tail_bytes);
    if (tail_bytes > l->room || need > l->room - end) return NULL;
    struct log_entry *e = (struct log_entry *)(void *)(l->memory + end);
    *e = (struct log_entry){.bytes = bytes, .tail_bytes = tail_bytes};
    memcpy(e + 1, record, bytes);
    return e;
}

void record_log_commit(struct log *l, struct log_entry *e) {
    l->latest = end_of(l);
    atom_store_release(&l->header->end, l->latest + entry_bytes(e));
}

struct log_entry *record_log_at(const struct log *l, uint64_t at, uint64_t *next) {
    if (at >= end_of(l)) return NULL;
    struct log_entry *e = (struct log_entry *)(void *)(l->memory + at);
    *next = at + entry_bytes(e);
    return e;
}

void *record_log_tail(struct log_entry *e) {
    return (unsigned char *)(e + 1) + padded(e->bytes);
}

struct log_entry *record_log_latest(const struct log *l) {
    return l->latest == UINT64_MAX ? NULL : (struct log_entry *)(void *)(l->memory + l->latest);
}

uint64_t record_log_ring_next(const struct log *l) {
    const struct log_entry *e = record_log_latest(l);
    return e ? e->ring_next : atom_load_relaxed(&l->header->ring_next);
}

uint64_t record_log_tail_bytes(const struct wire_record *rec) {
    const void *r = rec;
    switch (rec->op) {
    case WIRE_MODULE_LOAD: return ((const struct wire_module_load *)r)->image_bytes;
    case WIRE_GRAPH_LAUNCH: return 8ull * ((const struct wire_graph_launch *)r)->lanes;
    default: return 0;
    }
}

/* Readers rely on the entry's ids and on the length of its payload. */
static bool is_sane(const struct log_entry *e) {
    const struct wire_record *r = record_log_record(e);
    const void *rec = r;
    if (r->op == RECORD_LOG_PLACED)
        return e->bytes == sizeof(struct log_placed) &&
               ((const struct log_placed *)rec)->module < WIRE_MODULES &&
               e->tail_bytes % sizeof(struct dev_granule) == 0;
    return record_check(r, e->bytes, NULL, 0) == 0 && e->tail_bytes == record_log_tail_bytes(r);
}

/* Checks everything, because a faulty worker may have written the entry. */
static bool is_whole(const struct log *l, uint64_t at, uint64_t end) {
    const struct log_entry *e = (const struct log_entry *)(const void *)(l->memory + at);
    if (end - at < sizeof(*e)) return false;
    uint64_t left = end - at - sizeof(*e);
    if (e->bytes < sizeof(struct wire_record) || e->bytes > RING_RECORD_MAX) return false;
    if (padded(e->bytes) > left) return false;
    if (e->tail_bytes > RECORD_LOG_BYTES || padded(e->tail_bytes) > left - padded(e->bytes))
        return false;
    return is_sane(e);
}

bool record_log_whole(const struct log *l) {
    uint64_t end = end_of(l), at = 0;
    if (end > l->room || end % 8 || atom_load_relaxed(&l->header->moving)) return false;
    while (at < end) {
        if (!is_whole(l, at, end)) return false;
        record_log_at(l, at, &at);
    }
    return true;
}

bool record_log_find_latest(struct log *l) {
    if (!record_log_whole(l)) return false;
    uint64_t at = 0, next;
    for (l->latest = UINT64_MAX; record_log_at(l, at, &next); at = next)
        l->latest = at;
    return true;
}
