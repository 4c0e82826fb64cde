/* SPDX-License-Identifier: Apache-2.0
 *
 * What is on the device, and since when it has been the operations of one client alone. Owner: the
 * worker. Thread: the worker's.
 */
#ifndef DAEMON_WORKER_LOAD_H
#define DAEMON_WORKER_LOAD_H

#include <stdint.h>

struct load {
    uint64_t inflight; /* operations on the device */
    uint32_t clients;  /* that have some */
    uint64_t mixed_ns; /* until when there were several of these */
};

/* `own`: how many of them are the client's. */
static inline void load_begin(struct load *l, uint64_t *own, uint64_t now_ns) {
    l->clients += (*own)++ == 0;
    if (l->clients > 1) l->mixed_ns = now_ns;
    l->inflight++;
}

static inline void load_end(struct load *l, uint64_t *own, uint64_t now_ns) {
    if (l->clients > 1) l->mixed_ns = now_ns;
    l->clients -= --*own == 0;
    l->inflight--;
}

#endif
