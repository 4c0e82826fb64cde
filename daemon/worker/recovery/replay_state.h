/* SPDX-License-Identifier: Apache-2.0
 *
 * Progress of reading an earlier worker's log. Owner: the client. Thread: the worker's.
 */
#ifndef DAEMON_WORKER_RECOVERY_REPLAY_STATE_H
#define DAEMON_WORKER_RECOVERY_REPLAY_STATE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "daemon/device/device.h"
#include "daemon/device/device_recovery.h"
#include "daemon/worker/recovery/recovery_state.h"

struct log_entry;
struct stream;

/* A range of memory that a repeated operation accesses. */
struct redone {
    struct dev_touched touched;
    uint32_t stream, op; /* op: the index of the operation */
    bool says;           /* the write may be a signal to the host */
};

struct replay {
    bool active;
    bool restored; /* an earlier worker served this client */
    /* The memory of the log's modules is reserved: client_destroy releases what no module took. */
    bool promised;
    bool placed; /* the module that is being read has its place already */
    /* The client's memory is as it was at its savepoint. Operations that completed since then are
     * repeated, one after the other, without answers. */
    bool back;
    uint64_t done_end;            /* offset in the log behind the last of these operations */
    const struct stream *awaited; /* stream of the latest repeated operation; NULL: none */
    uint64_t awaited_seq;
    uint64_t done_again;     /* repeated operations so far */
    uint64_t at;             /* offset of the next entry in the log */
    struct log_entry *entry; /* the entry that was read last */
    uint64_t *begun;         /* [WIRE_STREAMS]: the last operation given to the device */
    struct redone *redone;   /* ranges of all repeated operations */
    uint32_t redone_count, redone_room, redone_ops;
    uint64_t deferred_done; /* deferred requests that had taken effect when reading began */
    uint32_t suspects;      /* not 0: the client's kernels that had begun are on trial */
    struct replay_stats stats;
};

/* True while a record that is read may come before a repeated operation, and so be in the same
 * iteration. */
static inline bool replay_catches_up(const struct replay *r) {
    return r->back && r->active && r->at <= r->done_end;
}

static inline void replay_forget(struct replay *r) {
    free(r->begun);
    free(r->redone);
    r->begun = NULL;
    r->redone = NULL;
    r->redone_count = r->redone_room = 0;
}

#endif
