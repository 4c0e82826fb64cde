/* SPDX-License-Identifier: Apache-2.0
 *
 * A GPU's worker as all parts see it: whether it serves, on which device, and why not. Only
 * life/supervise.h starts, ends and changes it; others may request a restart.
 *
 * Owner: struct broker. Thread: the loop's.
 */
#ifndef DAEMON_BROKER_WORKER_WORKER_H
#define DAEMON_BROKER_WORKER_WORKER_H

#include <stdbool.h>

#include "daemon/broker/worker/channel.h"
#include "daemon/broker/worker/held_memory.h"

enum worker_state {
    WORKER_DOWN,      /* no worker runs; the next is started after a pause */
    WORKER_STARTING,  /* launched, not READY */
    WORKER_TRYING,    /* the device is open; the trial job is attached and detached: life/trial.h */
    WORKER_RESTORING, /* the worker is given jobs that outlived its predecessor: life/recovery.h */
    WORKER_READY,     /* a job would be served */
    WORKER_FAILED,    /* given up after worker_tries, until a restart is requested */
    WORKER_STOPPED
};

struct worker {
    enum worker_state state;
    struct channel channel;
    struct wire_device device;      /* device of the latest worker that opened one */
    const struct wire_board *board; /* board of this worker, or NULL: board.h */
    int memory_fd;                  /* device memory that outlives the worker; -1: none */
    struct held_memory keeping;     /* further parts of device memory that outlive the worker */
    uint64_t restarts;
    uint64_t recovered; /* times that a job continued on the next worker */
    uint64_t lost;      /* times that a job ended with its worker */
    uv_async_t retry;   /* wakes supervise */
    char trouble[256];  /* why the worker does not serve; empty while it is READY */
};

static inline bool worker_ready(const struct worker *w) {
    return w->state == WORKER_READY;
}

/* Starts a worker now if there is none, even after it was given up. */
void worker_retry(struct worker *w);

#endif
