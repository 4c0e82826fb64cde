/* SPDX-License-Identifier: Apache-2.0
 *
 * The recovery state of a client: all that the next worker needs to continue as if nothing had
 * happened, should this one end (docs/adr/0020-recovery.md). It is one memfd. The broker has a
 * descriptor of it, and no client ever sees it.
 *
 * Owner: the client. Thread: the worker's.
 */
#ifndef DAEMON_WORKER_RECOVERY_RECOVERY_STATE_H
#define DAEMON_WORKER_RECOVERY_RECOVERY_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/atomics.h"
#include "daemon/worker/recovery/record_log.h"
#include "daemon/worker/recovery/savepoint.h"
#include "proto/wire/wire.h"

struct dev_ops;
struct dev_space;
struct memory_recovery;

/* Reasons why a client cannot be restored. */
enum recovery_lack {
    RECOVERY_COMPLETE,
    RECOVERY_SEGMENTS,
    RECOVERY_SIGNALS,
    RECOVERY_FILES,
    RECOVERY_OFFERS,
    RECOVERY_ARRAYS,
    RECOVERY_TEXTURES,
    RECOVERY_DEVICE,
    RECOVERY_LOG,
    RECOVERY_LACKS
};

/* Counters as they were: records that are read again do not count again. */
struct replay_stats {
    uint64_t launches, copies, copied_bytes, ops, modules, functions;
};

/* Shared with the next worker. */
struct recovery_header {
    uint64_t magic, bytes; /* size of the header itself: another version's is not read */
    uint64_t pages;
    _Atomic uint32_t lack; /* enum recovery_lack; the first reason that occurred */
    /* Number of kernels that may have ended the device, one of which is this client's; 0: none is.
     */
    _Atomic uint32_t suspects;
    _Atomic uint64_t deferred_done;  /* deferred requests that have taken effect */
    _Atomic uint64_t callbacks_done; /* host functions whose operation is complete */
    _Atomic uint64_t uses;           /* MEM_USE records that were announced */
    _Atomic uint32_t counting;       /* `counts` are valid instead of the page's */
    struct replay_stats counts;
    char device[160]; /* RECOVERY_DEVICE: the device's reason, written before `lack` */
    struct log_header log;
    struct savepoint_header savepoint;
    /* The last operation of each stream that was given to the device. */
    _Atomic uint64_t begun[WIRE_STREAMS];
};

struct recovery_state {
    int fd;                         /* -1: there is no recovery state */
    struct recovery_header *header; /* NULL: there is no recovery state, and nothing is recorded */
    struct memory_recovery *memory;
    struct log log;
    struct savepoint savepoint; /* for clients that ask for savepoints */
    uint64_t bytes;             /* size of the mapping */
    uint64_t deferred;          /* deferred requests so far */
    uint64_t graph; /* offset in the log of the graph whose records are being read; or UINT64_MAX */
};

/* Creates recovery state for a window of `pages` granules. 0 or -errno. */
int recovery_create(struct recovery_state *e, uint64_t pages);
/* Opens an earlier worker's recovery state; `fd` is taken over in any case. -EINVAL: it is
 * malformed or incomplete. */
int recovery_open(struct recovery_state *e, uint64_t pages, int fd);
/* Offset of `memory` in the file, in bytes. */
uint64_t recovery_memory_at(void);
/* Accepts a struct that is zeroed, with fd -1. */
void recovery_close(struct recovery_state *e);

/* Prepares savepoints, for which the client asked. */
void recovery_want_savepoints(struct recovery_state *e, uint64_t every_ns,
                              struct wire_savepoint *shown);

/* True when there is recovery state, and nothing makes it incomplete so far. */
static inline bool recovery_is_complete(const struct recovery_state *e) {
    return e->header && atom_load_relaxed(&e->header->lack) == RECOVERY_COMPLETE;
}

/* The progress up to which no later worker needs the log: that of the savepoint, if there is a
 * valid one, else that of the page. Earlier entries may be dropped. */
static inline struct log_state recovery_over(const struct recovery_state *e,
                                             const struct wire_completion *page) {
    uint64_t deferred_done = atom_load_relaxed(&e->header->deferred_done);
    if (savepoint_whole(&e->savepoint))
        return (struct log_state){e->header->savepoint.done, NULL, deferred_done};
    return (struct log_state){page->stream_done, page->more_done, deferred_done};
}

void recovery_note_lack(struct recovery_state *e, enum recovery_lack lack);
/* Asks the device whether the space can be made again, and records RECOVERY_DEVICE if not. Called
 * after a possible change, before the client is told of it. */
void recovery_ask(struct recovery_state *e, const struct dev_ops *ops,
                  const struct dev_space *space);
/* The reason for people; NULL: nothing is missing. */
const char *recovery_lacks(const struct recovery_state *e);

/* Records that an operation is given to the device. */
static inline void recovery_begin(struct recovery_state *e, uint32_t stream, uint64_t seq) {
    if (!e->header || stream >= WIRE_STREAMS) return;
    if (seq > atom_load_relaxed(&e->header->begun[stream]))
        atom_store_release(&e->header->begun[stream], seq);
}

/* Records that the operation, and all behind it, certainly did not begin. */
static inline void recovery_take_back(struct recovery_state *e, uint32_t stream, uint64_t seq) {
    if (!e->header || stream >= WIRE_STREAMS) return;
    if (seq <= atom_load_relaxed(&e->header->begun[stream]))
        atom_store_release(&e->header->begun[stream], seq - 1);
}

static inline void recovery_suspect(struct recovery_state *e, uint32_t suspects) {
    if (e->header) atom_store_release(&e->header->suspects, suspects);
}

/* Records the number of completed host functions. */
static inline void recovery_callback_over(struct recovery_state *e, uint64_t done) {
    if (e->header) atom_store_release(&e->header->callbacks_done, done);
}

static inline void recovery_uses(struct recovery_state *e, uint64_t uses) {
    if (e->header) atom_store_relaxed(&e->header->uses, uses);
}

static inline void recovery_deferred_over(struct recovery_state *e) {
    if (e->header)
        atom_store_release(&e->header->deferred_done,
                           atom_load_relaxed(&e->header->deferred_done) + 1);
}

#endif
