/* SPDX-License-Identifier: Apache-2.0
 *
 * To where a client can go back (docs/adr/0021-savepoints.md): the moment at which its memory was
 * saved (memory/memory_saved.h), and the bytes of what was copied to the device since then, for its
 * host memory may hold others by now. Operations that were complete then are the past; the log
 * keeps all that came later, complete or not. It is in the estate, of those who ask for it.
 *
 * It counts while it is WHOLE. What changes what the client has (memory, modules) or cannot be done
 * again makes it void, until memory is saved the next time.
 *
 * Owner: struct estate. Thread: the worker's; savepoint_void from any.
 */
#ifndef DAEMON_WORKER_ESTATE_SAVEPOINT_H
#define DAEMON_WORKER_ESTATE_SAVEPOINT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/atomics.h"
#include "common/list.h"
#include "common/slotmap.h"
#include "daemon/policy/reason.h"
#include "proto/wire/wire.h"

#define SAVEPOINT_DATA_BYTES (256ull << 20) /* of copies since then, at most; sparse */
#define SAVEPOINT_GRANULES 512u             /* of modules' variables, at most */

/* Shared. */
struct savepoint_header {
    _Atomic uint32_t whole;
    /* The client went back, and what was complete is not all done again: its memory is older than
     * its page says. */
    _Atomic uint32_t returning;
    _Atomic uint32_t never; /* enum savepoint_reason: it can have none any more */
    _Atomic uint32_t granule_count;
    _Atomic uint64_t data_end;
    /* Of each granule of variables: the chunk, and the spare where its bytes are. */
    struct {
        uint64_t chunk, spare;
    } granules[SAVEPOINT_GRANULES];
    _Atomic uint64_t done[WIRE_STREAMS]; /* as on the completion page then */
};

/* Bytes of one operation that copies to the device, its rows one behind the other. In the order in
 * which they were given to the device; each padded to 8 bytes. */
struct savepoint_data {
    uint64_t stream, seq, bytes;
};

enum savepoint_reason {
#define X(name, text) SAVEPOINT_##name,
    REASON_SAVEPOINT(X)
#undef X
};

struct savepoint {
    struct savepoint_header *header; /* NULL: the client asked for none, or has no estate */
    unsigned char *data;             /* SAVEPOINT_DATA_BYTES */
    struct wire_savepoint *shown;    /* to people */
    _Atomic uint32_t voids;          /* how often something made it void */
    struct slotmap by_op;            /* of a client that goes back: places in `data` */
    /* Taking the next one: savepoint_writer.h. */
    uint64_t every_ns, due_ns, began_ns;
    uint64_t soonest_ns;    /* no sooner, should the latest become void */
    struct list link;       /* worker.work.saving: it is under way */
    uint32_t page, granule; /* what is saved next */
    uint32_t begun;         /* `voids` when it began */
    uint32_t settles;       /* what was read and makes one void is over with this iteration */
};

void savepoint_attach(struct savepoint *k, struct savepoint_header *header, void *data,
                      struct wire_savepoint *shown);
void savepoint_finish(struct savepoint *k);

static inline bool savepoint_whole(const struct savepoint *k) {
    return k->header && atom_load_acquire(&k->header->whole);
}

static inline bool savepoint_possible(const struct savepoint *k) {
    return k->header && !atom_load_relaxed(&k->header->never);
}

/* It cannot go back to it any more, and why. */
void savepoint_void(struct savepoint *k, enum savepoint_reason reason);
/* Nor will it be able to. */
void savepoint_never(struct savepoint *k, enum savepoint_reason reason);

/* Memory is about to be saved: nothing counts until savepoint_commit, and what was kept of copies
 * is dropped. The number of times that it was void: commit wants it to be the same. */
uint32_t savepoint_begin(struct savepoint *k);
/* Nothing of the client is on the device, and all of its memory is saved, in so many bytes: that is
 * where it goes back to, and the next is due in every_ns. False: something made it void meanwhile.
 */
bool savepoint_commit(struct savepoint *k, const struct wire_completion *page, uint32_t voids,
                      uint64_t bytes);

/* Room for what an operation copies, which counts with savepoint_keep; NULL: it has become void,
 * since there is none. */
void *savepoint_room(struct savepoint *k, uint64_t bytes);
void savepoint_keep(struct savepoint *k, uint32_t stream, uint64_t seq, uint64_t bytes);

/* Of one that an earlier worker wrote: false where it is none, whatever it says. Before
 * savepoint_find. */
bool savepoint_open(struct savepoint *k, const struct wire_completion *page);
/* What the operation copied; NULL: so many bytes were not kept of it. */
const void *savepoint_find(const struct savepoint *k, uint32_t stream, uint64_t seq,
                           uint64_t bytes);

/* Whether it was complete when memory was saved. */
static inline bool savepoint_past(const struct savepoint *k, uint32_t stream, uint64_t seq) {
    return seq <= atom_load_relaxed(&k->header->done[stream]);
}

#endif
