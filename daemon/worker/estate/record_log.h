/* SPDX-License-Identifier: Apache-2.0
 *
 * The log of an estate: every record that was read of a client's ring, in order, with what it came
 * with, until it is over. It lies in memory that outlives the worker, which may be killed between
 * any two instructions: an entry counts once the end is behind it.
 *
 * Owner: struct estate. Thread: the worker's.
 */
#ifndef DAEMON_WORKER_ESTATE_RECORD_LOG_H
#define DAEMON_WORKER_ESTATE_RECORD_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "common/atomics.h"
#include "proto/wire/wire.h"

#define RECORD_LOG_BYTES (256ull << 20) /* at most; sparse */
#define RECORD_LOG_FIRST_LIMIT (256ull << 10)

#define RECORD_LOG_VOID 1u    /* it was refused: nothing came of it */
#define RECORD_LOG_FILLING 2u /* what came with it is not there yet */
/* The latest, and what it ended is dropped: it is kept for its place in the ring, and for its
 * answer, which nobody may have given. */
#define RECORD_LOG_OVER 4u
#define RECORD_LOG_BODIES \
    8u /* the last of a graph that has others as bodies: they were there before */

/* Beside records of clients: where the variables of the module lie, whose MODULE_LOAD is before it.
 * What comes with it is struct dev_granule. */
#define RECORD_LOG_PLACED 0xfff0u
struct log_placed {
    struct wire_record rec;
    uint32_t module, pad;
};

/* Followed by the record and what came with it, each padded to 8 bytes. */
struct log_entry {
    uint32_t bytes;     /* of the record */
    uint32_t flags;     /* LOG_* */
    uint64_t ring_next; /* what of the ring has been read with it */
    uint64_t number;    /* of those that wait for all before them: which of these, from 1; else 0 */
    uint64_t tail_bytes; /* an image; of a GRAPH_LAUNCH a uint64_t a lane: its stream's next
                            number when all was read, 0 until then */
};

/* Shared. */
struct log_header {
    _Atomic uint64_t end;       /* bytes of the log in use */
    _Atomic uint64_t ring_next; /* before its first entry */
    _Atomic uint32_t moving; /* entries are being moved: killed now, nothing of it is to be used */
    uint32_t pad;
};

struct log {
    struct log_header *header;
    unsigned char *memory;
    uint64_t room, limit; /* bytes: at most; until it is tidied */
    uint64_t latest;      /* where the latest entry is; UINT64_MAX: there is none */
};

/* What is known of the work in the log, to see what is over. */
struct log_state {
    /* As on the completion page; more_done NULL: stream_done has all streams. */
    const _Atomic uint64_t *stream_done, *more_done;
    uint64_t deferred_done; /* entries with a number up to this have taken effect */
};

static inline uint64_t record_log_done(const struct log_state *s, uint32_t stream) {
    bool first = stream < WIRE_STREAMS_FIRST || !s->more_done;
    return atom_load_relaxed(first ? &s->stream_done[stream]
                                   : &s->more_done[stream - WIRE_STREAMS_FIRST]);
}

void record_log_attach(struct log *l, struct log_header *header, void *memory, uint64_t room);

/* Room for a record and a tail behind all others, which becomes part of the log with
 * record_log_commit. NULL: there is none, even after record_log_tidy. The tail is the caller's to
 * fill. */
struct log_entry *record_log_reserve(struct log *l, const void *record, uint32_t bytes,
                                     uint64_t tail_bytes);
void record_log_commit(struct log *l, struct log_entry *e);

/* True if it is time for record_log_tidy before another entry of so many bytes. */
static inline bool record_log_full(const struct log *l, uint64_t bytes) {
    return atom_load_relaxed(&l->header->end) + bytes > l->limit;
}

/* Of one that was just tidied: there is so little room left that it would have to be tidied again
 * and again, and it is long. */
static inline bool record_log_crowded(const struct log *l) {
    uint64_t end = atom_load_relaxed(&l->header->end);
    return end > l->room - l->room / 8;
}

/* Of a log that somebody else wrote, before anything else: finds the latest entry. False: it is
 * not whole. */
bool record_log_find_latest(struct log *l);
/* Whether all of the log is entries, each of them whole: of a record that a client may send, or
 * RECORD_LOG_PLACED, with as much behind it as it says. */
bool record_log_whole(const struct log *l);

/* The one at this place, and where the next one is; NULL behind the last. */
struct log_entry *record_log_at(const struct log *l, uint64_t at, uint64_t *next);
static inline const struct wire_record *record_log_record(const struct log_entry *e) {
    return (const struct wire_record *)(const void *)(e + 1);
}
void *record_log_tail(struct log_entry *e);
/* How much comes with a record of a client: tail_bytes. */
uint64_t record_log_tail_bytes(const struct wire_record *rec);
/* The latest; NULL: there is none. */
struct log_entry *record_log_latest(const struct log *l);
/* What of the ring has been read. */
uint64_t record_log_ring_next(const struct log *l);

#endif
