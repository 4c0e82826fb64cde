/* SPDX-License-Identifier: Apache-2.0
 *
 * The worker as everybody sees it: whether one serves, on which device, and why not. Who starts and
 * ends it is life/supervise.h; nobody else changes it, but for
 * asking for another.
 *
 * Owner: struct broker. Thread: the loop's.
 */
#ifndef DAEMON_BROKER_WORKER_WORKER_H
#define DAEMON_BROKER_WORKER_WORKER_H

#include <stdbool.h>

#include "daemon/broker/worker/channel.h"
#include "daemon/broker/worker/keeping.h"

enum worker_state {
    WORKER_DOWN,      /* the next one is started after a while */
    WORKER_STARTING,  /* launched, not READY */
    WORKER_TRYING,    /* its device is open; the trial job is attached and let go: life/trial.h */
    WORKER_RESTORING, /* jobs that outlived the one before are given to it: life/recovery.h */
    WORKER_READY,     /* a job would be served */
    WORKER_FAILED,    /* given up after worker_tries, until somebody asks for another */
    WORKER_STOPPED
};

struct worker {
    enum worker_state state;
    struct channel channel;
    struct wire_device device;      /* of the latest that opened it */
    const struct wire_board *board; /* of this one, or NULL: board.h */
    int memory_fd;          /* of the device, where that outlives the worker; -1: it does not */
    struct keeping keeping; /* parts of that memory that are not in memory_fd */
    uint64_t restarts;
    uint64_t recovered; /* times that a job of one went on with the next */
    uint64_t lost;      /* times that a job ended with one */
    uv_async_t retry;   /* wakes who starts workers */
    char trouble[256];  /* why there is no worker; empty when there is */
};

static inline bool worker_ready(const struct worker *w) {
    return w->state == WORKER_READY;
}

/* One that is not there is started now, also one that was given up. */
void worker_retry(struct worker *w);

#endif
