/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations of a client that wait for a value of memory (WIRE_VALUE_WAIT), each its stream's
 * first: who they are, when their cells are to be looked at, and what is looked for. Who looks, and
 * where: value_wait.h.
 *
 * Anybody may write a cell: kernels, copies, the client's own process, another client through
 * shared memory; most of them say nothing. So cells are looked at again when anything of the client
 * was completed, and from time to time: soon at first, then ever more rarely, in proportion to how
 * long nothing has come of it.
 *
 * Owner: the client. Thread: the worker's.
 */
#ifndef DAEMON_WORKER_STREAM_WATCH_H
#define DAEMON_WORKER_STREAM_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "common/list.h"

struct op;

#define WATCH_LEAST_NS 20000ull   /* between two looks that nothing but the time is a reason for */
#define WATCH_MOST_NS 10000000ull /* and at most: for ever, it may be */

struct watch {
    struct list link;         /* worker.work.watching, while there is any */
    struct op *first, **last; /* linked by next; the first is looked at next */
    uint32_t count;
    uint64_t open; /* waits that were read and are not over, those that have not begun among them */
    uint64_t completed; /* operations of the client, at the latest look */
    uint64_t since_ns;  /* since when nothing has come of it */
    uint64_t due_ns;
};

void watch_init(struct watch *w);
static inline bool watch_any(const struct watch *w) {
    return w->first != NULL;
}

/* A new one: looked at soon. */
void watch_add(struct watch *w, struct op *op, uint64_t now_ns);
/* The first; with watch_again it is the last. There is one. */
struct op *watch_take(struct watch *w);
void watch_again(struct watch *w, struct op *op);
/* They were looked at. `came`: for one of them. */
void watch_looked(struct watch *w, bool came, uint64_t completed, uint64_t now_ns);
/* None waits any more. */
void watch_forget(struct watch *w);

/* This is what it waits for. */
bool watch_met(const struct op *op, uint64_t cell);

#endif
