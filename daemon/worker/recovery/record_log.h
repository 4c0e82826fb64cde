/* SPDX-License-Identifier: Apache-2.0
 *
 * The log of the recovery state: every record that was read from a client's ring, in order, with
 * its payload, until it has taken effect. It lies in memory that outlives the worker, which may be
 * killed between any two instructions: an entry counts once the log's end is behind it.
 *
 * Owner: `struct recovery_state`. Thread: the worker's.
 */
#ifndef DAEMON_WORKER_RECOVERY_RECORD_LOG_H
#define DAEMON_WORKER_RECOVERY_RECORD_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "common/atomics.h"
#include "proto/wire/wire.h"

#define RECORD_LOG_BYTES (256ull << 20) /* largest size; sparse */
#define RECORD_LOG_FIRST_LIMIT (256ull << 10)

#define RECORD_LOG_VOID 1u    /* the record was refused and had no effect */
#define RECORD_LOG_FILLING 2u /* the payload is not complete yet */
/* The record ended an object and has taken effect, and the entries of that object are dropped. Only
 * the latest entry stays so, for its ring position and its answer, which may not have been sent. */
#define RECORD_LOG_OVER 4u
/* The last record of a graph with other graphs as bodies, which existed before. */
#define RECORD_LOG_BODIES 8u

/* An entry that is no client's record: the place of a module's variables, after its MODULE_LOAD.
 * Its payload is struct dev_granule. */
#define RECORD_LOG_PLACED 0xfff0u
struct log_placed {
    struct wire_record rec;
    uint32_t module, pad;
};

/* Followed by the record and its payload, each padded to 8 bytes. */
struct log_entry {
    uint32_t bytes;      /* size of the record */
    uint32_t flags;      /* RECORD_LOG_* */
    uint64_t ring_next;  /* ring position after the record */
    uint64_t number;     /* number among the deferred requests, from 1; else 0 */
    uint64_t tail_bytes; /* size of the payload: an image; or for a GRAPH_LAUNCH a uint64_t for each
                            lane, its stream's next number once all was read, 0 until then */
};

/* Shared with the next worker. */
struct log_header {
    _Atomic uint64_t end;       /* bytes of the log in use */
    _Atomic uint64_t ring_next; /* ring position before the log's first entry */
    /* entries are being moved: the log is unusable if the worker dies meanwhile */
    _Atomic uint32_t moving;
    uint32_t pad;
};

struct log {
    struct log_header *header;
    unsigned char *memory;
    uint64_t room, limit; /* bytes: largest size; size at which it is tidied */
    uint64_t latest;      /* offset of the latest entry; UINT64_MAX: there is none */
};

/* Progress of the work in the log, which tells what is obsolete. */
struct log_state {
    /* As on the completion page; more_done NULL: stream_done has all streams. */
    const _Atomic uint64_t *stream_done, *more_done;
    uint64_t deferred_done; /* deferred requests with a number up to this have taken effect */
};

static inline uint64_t record_log_done(const struct log_state *s, uint32_t stream) {
    bool first = stream < WIRE_STREAMS_FIRST || !s->more_done;
    return atom_load_relaxed(first ? &s->stream_done[stream]
                                   : &s->more_done[stream - WIRE_STREAMS_FIRST]);
}

void record_log_attach(struct log *l, struct log_header *header, void *memory, uint64_t room);

/* Reserves an entry for a record and a payload at the end, which record_log_commit makes part of
 * the log. The caller fills the payload. NULL: there is no space; callers tidy the log before. */
struct log_entry *record_log_reserve(struct log *l, const void *record, uint32_t bytes,
                                     uint64_t tail_bytes);
void record_log_commit(struct log *l, struct log_entry *e);

/* True if record_log_tidy is due before another entry of this size. */
static inline bool record_log_full(const struct log *l, uint64_t bytes) {
    return atom_load_relaxed(&l->header->end) + bytes > l->limit;
}

/* True when a log that was just tidied is still so full that it would be tidied again and again, at
 * great cost. */
static inline bool record_log_crowded(const struct log *l) {
    uint64_t end = atom_load_relaxed(&l->header->end);
    return end > l->room - l->room / 8;
}

/* Finds the latest entry of a log that another worker wrote; called before anything else. False:
 * the log is malformed. */
bool record_log_find_latest(struct log *l);
/* True when the whole log consists of well-formed entries: records that a client may send, or
 * RECORD_LOG_PLACED, each with a payload of the right size. */
bool record_log_whole(const struct log *l);

/* The entry at this offset, and the offset of the next one; NULL at the end. */
struct log_entry *record_log_at(const struct log *l, uint64_t at, uint64_t *next);
static inline const struct wire_record *record_log_record(const struct log_entry *e) {
    return (const struct wire_record *)(const void *)(e + 1);
}
void *record_log_tail(struct log_entry *e);
/* Payload size of a client's record: tail_bytes. */
uint64_t record_log_tail_bytes(const struct wire_record *rec);
/* The latest entry; NULL: there is none. */
struct log_entry *record_log_latest(const struct log *l);
/* Ring position up to which records have been read. */
uint64_t record_log_ring_next(const struct log *l);

#endif
