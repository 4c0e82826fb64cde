/* SPDX-License-Identifier: Apache-2.0
 *
 * The number of operations on the device, and since when all of them are one client's. Owner: the
 * worker. Thread: the worker's.
 */
#ifndef DAEMON_WORKER_LOAD_H
#define DAEMON_WORKER_LOAD_H

#include <stdint.h>

struct load {
    uint64_t inflight; /* operations on the device */
    uint32_t clients;  /* clients with operations on the device */
    uint64_t mixed_ns; /* the latest time at which there were several such clients */
};

/* `own`: operations of the client on the device, of which one more begins or one ends. */
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
