/* SPDX-License-Identifier: Apache-2.0
 *
 * The estate of a client: all that the next worker needs, should this one end, to go on as if
 * nothing had happened (docs/adr/0020-recovery.md). One memfd, of which the broker has a
 * descriptor; no client ever sees it.
 *
 * Owner: the client. Thread: the worker's.
 */
#ifndef DAEMON_WORKER_ESTATE_ESTATE_H
#define DAEMON_WORKER_ESTATE_ESTATE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/atomics.h"
#include "daemon/worker/estate/record_log.h"
#include "daemon/worker/estate/savepoint.h"
#include "proto/wire/wire.h"

struct dev_ops;
struct dev_space;
struct memory_estate;

/* Why a client cannot be restored. */
enum estate_lack {
    ESTATE_WHOLE,
    ESTATE_SEGMENTS,
    ESTATE_SIGNALS,
    ESTATE_FILES,
    ESTATE_OFFERS,
    ESTATE_ARRAYS,
    ESTATE_TEXTURES,
    ESTATE_DEVICE,
    ESTATE_LOG,
    ESTATE_LACKS
};

/* Counters as they were: nothing that is read again counts again. */
struct replay_stats {
    uint64_t launches, copies, copied_bytes, ops, modules, functions;
};

/* Shared. */
struct estate_header {
    uint64_t magic, bytes; /* of the header itself: another version's is not read */
    uint64_t pages;
    _Atomic uint32_t lack; /* enum estate_lack; the first that came up */
    /* A kernel of it is one of so many that may have ended the device; 0: none of it may have. */
    _Atomic uint32_t suspects;
    _Atomic uint64_t deferred_done;  /* of those that wait for all before them: how many are over */
    _Atomic uint64_t callbacks_done; /* host functions whose operation is complete */
    _Atomic uint64_t uses;           /* MEM_USE that were announced */
    _Atomic uint32_t counting;       /* `counts` are true, not the page's */
    struct replay_stats counts;
    char device[160]; /* ESTATE_DEVICE: what the device said; a string before that is the lack */
    struct log_header log;
    struct savepoint_header savepoint;
    /* The operation of each stream that was given to the device last. */
    _Atomic uint64_t begun[WIRE_STREAMS];
};

struct estate {
    int fd;                       /* -1: there is none */
    struct estate_header *header; /* NULL: likewise, and nothing is kept */
    struct memory_estate *memory;
    struct log log;
    struct savepoint savepoint; /* of who asks for them */
    uint64_t bytes;             /* mapped */
    uint64_t deferred;          /* records that wait for all before them, so far */
    uint64_t graph; /* where in the log the graph is whose records are being read; or UINT64_MAX */
};

/* A new one, for a window of so many granules. 0 or -errno. */
int estate_create(struct estate *e, uint64_t pages);
/* An earlier worker's; `fd` is taken over in any case. -EINVAL: it is none, or not whole. */
int estate_open(struct estate *e, uint64_t pages, int fd);
/* Where in the file `memory` is: bytes. */
uint64_t estate_memory_at(void);
/* Also of one that is zeroed, with fd -1. */
void estate_close(struct estate *e);

/* The client asks for savepoints. */
void estate_want_savepoints(struct estate *e, uint64_t every_ns, struct wire_savepoint *shown);

/* There is one, and it lacks nothing so far. */
static inline bool estate_whole(const struct estate *e) {
    return e->header && atom_load_relaxed(&e->header->lack) == ESTATE_WHOLE;
}

/* The point up to which nobody will ask for the log again: it may drop all before that. */
static inline struct log_state estate_over(const struct estate *e,
                                           const struct wire_completion *page) {
    uint64_t deferred_done = atom_load_relaxed(&e->header->deferred_done);
    if (savepoint_whole(&e->savepoint))
        return (struct log_state){e->header->savepoint.done, NULL, deferred_done};
    return (struct log_state){page->stream_done, page->more_done, deferred_done};
}

void estate_note_lack(struct estate *e, enum estate_lack lack);
/* Asks the device whether the space can be made again: before anybody is told of what may have
 * changed that. */
void estate_ask(struct estate *e, const struct dev_ops *ops, const struct dev_space *space);
/* For people; NULL: it lacks nothing. */
const char *estate_lacks(const struct estate *e);

/* An operation is given to the device. */
static inline void estate_begin(struct estate *e, uint32_t stream, uint64_t seq) {
    if (!e->header || stream >= WIRE_STREAMS) return;
    if (seq > atom_load_relaxed(&e->header->begun[stream]))
        atom_store_release(&e->header->begun[stream], seq);
}

/* It was not, nor anything behind it: it certainly did not begin. */
static inline void estate_take_back(struct estate *e, uint32_t stream, uint64_t seq) {
    if (!e->header || stream >= WIRE_STREAMS) return;
    if (seq <= atom_load_relaxed(&e->header->begun[stream]))
        atom_store_release(&e->header->begun[stream], seq - 1);
}

static inline void estate_suspect(struct estate *e, uint32_t suspects) {
    if (e->header) atom_store_release(&e->header->suspects, suspects);
}

/* So many host functions' operations are complete. */
static inline void estate_callback_over(struct estate *e, uint64_t done) {
    if (e->header) atom_store_release(&e->header->callbacks_done, done);
}

static inline void estate_uses(struct estate *e, uint64_t uses) {
    if (e->header) atom_store_relaxed(&e->header->uses, uses);
}

static inline void estate_deferred_over(struct estate *e) {
    if (e->header)
        atom_store_release(&e->header->deferred_done,
                           atom_load_relaxed(&e->header->deferred_done) + 1);
}

#endif
