/* SPDX-License-Identifier: Apache-2.0
 *
 * A savepoint, to which a client can go back (docs/adr/0021-savepoints.md). It is the moment at
 * which the client's memory was saved (memory/memory_saved.h), plus the bytes of later copies to
 * the device, because the host memory may have changed since. The log keeps every operation that
 * was not complete at that moment. It is part of the recovery state of clients that ask for
 * savepoints.
 *
 * It is valid while `whole` is set. A record that changes what the client has (memory, modules), or
 * that cannot be repeated, makes it void until memory is saved again.
 *
 * Owner: `struct recovery_state`. Thread: the worker's; savepoint_void from any.
 */
#ifndef DAEMON_WORKER_RECOVERY_SAVEPOINT_H
#define DAEMON_WORKER_RECOVERY_SAVEPOINT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/atomics.h"
#include "common/list.h"
#include "common/slotmap.h"
#include "daemon/policy/reason.h"
#include "proto/wire/wire.h"

#define SAVEPOINT_DATA_BYTES (256ull << 20) /* largest size of the bytes of copies; sparse */
#define SAVEPOINT_GRANULES 512u             /* largest number of the modules' variable granules */

/* Shared with the next worker. */
struct savepoint_header {
    _Atomic uint32_t whole;
    /* The client went back, and its completed operations are not all repeated yet: its memory is
     * older than its page says. */
    _Atomic uint32_t returning;
    _Atomic uint32_t never; /* enum savepoint_reason: why no savepoint is possible any more */
    _Atomic uint32_t granule_count;
    _Atomic uint64_t data_end;
    /* For each granule of variables: the chunk, and the spare with its bytes. */
    struct {
        uint64_t chunk, spare;
    } granules[SAVEPOINT_GRANULES];
    _Atomic uint64_t done[WIRE_STREAMS]; /* as on the completion page at that moment */
};

/* Bytes of one operation that copies to the device, its rows one behind the other. Entries are in
 * the order in which the operations were given to the device, each padded to 8 bytes. */
struct savepoint_data {
    uint64_t stream, seq, bytes;
};

enum savepoint_reason {
#define X(name, text) SAVEPOINT_##name,
    REASON_SAVEPOINT(X)
#undef X
};

struct savepoint {
    struct savepoint_header *header; /* NULL: the client asked for none, or has no recovery state */
    unsigned char *data;             /* SAVEPOINT_DATA_BYTES */
    struct wire_savepoint *shown;    /* for people */
    _Atomic uint32_t voids;          /* how often the savepoint was made void */
    struct slotmap by_op;            /* while the client goes back: offsets in `data` */
    /* Taking the next one: savepoint_writer.h. */
    uint64_t every_ns, due_ns, began_ns;
    uint64_t soonest_ns;    /* earliest time of the next savepoint if the latest becomes void */
    struct list link;       /* worker.work.saving: it is in progress */
    uint32_t page, granule; /* the next to be saved */
    uint32_t begun;         /* `voids` when saving began */
    uint32_t settles; /* the iteration that ends the effect of records that make a savepoint void */
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

/* Makes the savepoint invalid, with the reason. */
void savepoint_void(struct savepoint *k, enum savepoint_reason reason);
/* Makes this and all later savepoints impossible. */
void savepoint_never(struct savepoint *k, enum savepoint_reason reason);

/* Memory is about to be saved: there is no valid savepoint until savepoint_commit, and recorded
 * copies are dropped. Returns the number of times that it was made void, which commit compares. */
uint32_t savepoint_begin(struct savepoint *k);
/* Makes the savepoint valid, with all of the client's memory saved in `bytes` and nothing on the
 * device. The next is due in every_ns. `voids`: as savepoint_begin returned it. False: the
 * savepoint was made void meanwhile, or none is possible. */
bool savepoint_commit(struct savepoint *k, const struct wire_completion *page, uint32_t voids,
                      uint64_t bytes);

/* Space for the bytes that an operation copies, which counts from savepoint_keep on. NULL: there is
 * no space, and the savepoint has become void. */
void *savepoint_room(struct savepoint *k, uint64_t bytes);
void savepoint_keep(struct savepoint *k, uint32_t stream, uint64_t seq, uint64_t bytes);

/* Opens a savepoint that an earlier worker wrote. False: it is invalid or malformed. Called before
 * savepoint_find. */
bool savepoint_open(struct savepoint *k, const struct wire_completion *page);
/* The bytes that the operation copied; NULL: not that many were recorded for it. */
const void *savepoint_find(const struct savepoint *k, uint32_t stream, uint64_t seq,
                           uint64_t bytes);

/* True when the operation was complete at the savepoint. */
static inline bool savepoint_past(const struct savepoint *k, uint32_t stream, uint64_t seq) {
    return seq <= atom_load_relaxed(&k->header->done[stream]);
}

#endif
