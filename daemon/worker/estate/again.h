/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the reading of an earlier worker's log stands. Owner: the client. Thread: the worker's.
 */
#ifndef DAEMON_WORKER_ESTATE_AGAIN_H
#define DAEMON_WORKER_ESTATE_AGAIN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

struct log_entry;

/* Of a stream: what was given to the device last, and what of that is done again touches. */
struct begun {
    uint64_t seq;
    uint8_t touched, alone;
};

/* Counters as they were: nothing that is read again counts again. */
struct replay_stats {
    uint64_t launches, copies, copied_bytes, ops, modules, functions;
};

struct replay {
    bool active;
    bool restored; /* it was active once */
    bool promised; /* memory of modules in the log was: client_destroy renounces what is left of it
                    */
    bool placed;   /* the module that is being read has its place already */
    uint64_t at;   /* in the log: what comes next */
    struct log_entry *entry; /* that was read last */
    struct begun *begun;     /* [WIRE_STREAMS] */
    uint64_t deferred_done;  /* when it began */
    uint32_t suspects;       /* as its estate had it: its kernels that had begun are on trial */
    struct replay_stats stats;
};

static inline void replay_forget(struct replay *r) {
    free(r->begun);
    r->begun = NULL;
}

#endif
