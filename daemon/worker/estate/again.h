/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the reading of an earlier worker's log stands. Owner: the client. Thread: the worker's.
 */
#ifndef DAEMON_WORKER_ESTATE_AGAIN_H
#define DAEMON_WORKER_ESTATE_AGAIN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "daemon/device/device.h"
#include "daemon/device/device_recovery.h"
#include "daemon/worker/estate/estate.h"

struct log_entry;
struct stream;

/* A range of memory of an operation that is done again. */
struct redone {
    struct dev_touched touched;
    uint32_t stream, op; /* op: the how manieth it is */
    bool says;           /* what it writes may be there to tell the host something */
};

struct replay {
    bool active;
    bool restored; /* it was active once */
    bool promised; /* memory of modules in the log was: client_destroy renounces what is left of it
                    */
    bool placed;   /* the module that is being read has its place already */
    /* Its memory is as it was at its savepoint: what was complete since then is done again, one
     * operation after the other, and nobody is told. */
    bool back;
    uint64_t done_end;            /* behind the last of these in the log */
    const struct stream *awaited; /* the latest, and its number there; NULL: none */
    uint64_t awaited_seq;
    uint64_t done_again;     /* how many so far */
    uint64_t at;             /* in the log: what comes next */
    struct log_entry *entry; /* that was read last */
    uint64_t *begun;         /* [WIRE_STREAMS]: what was given to the device last */
    struct redone *redone;   /* of all that is done again */
    uint32_t redone_count, redone_room, redone_ops;
    uint64_t deferred_done; /* when it began */
    uint32_t suspects;      /* as its estate had it: its kernels that had begun are on trial */
    struct replay_stats stats;
};

/* What is read now may be before something that is done again: it is in its iteration. */
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
