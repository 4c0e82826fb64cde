/* SPDX-License-Identifier: Apache-2.0
 *
 * A client's operations that wait for a value of memory (WIRE_VALUE_WAIT), each the first of its
 * stream: the list, and the time of the next check. value_wait.h checks the cells.
 *
 * Kernels, copies, the client's own process and other clients with shared memory can write a cell,
 * and most of them without notice. So cells are checked again when anything of the client
 * completes, and from time to time: soon at first, then ever more rarely, in proportion to the time
 * without success.
 *
 * Owner: the client. Thread: the worker's.
 */
#ifndef DAEMON_WORKER_STREAM_WATCH_H
#define DAEMON_WORKER_STREAM_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "common/list.h"

struct op;

#define WATCH_LEAST_NS 20000ull   /* shortest interval of checks by time alone */
#define WATCH_MOST_NS 10000000ull /* longest interval: the wait may last for ever */

struct watch {
    struct list link;         /* worker.work.watching, while any operation waits */
    struct op *first, **last; /* linked by next; the first is checked next */
    uint32_t count;
    uint64_t open; /* waits that were read and are not over, including those that have not begun */
    uint64_t completed; /* completed operations of the client at the latest check */
    uint64_t since_ns;  /* time of the latest success */
    uint64_t due_ns;
};

void watch_init(struct watch *w);
static inline bool watch_any(const struct watch *w) {
    return w->first != NULL;
}

/* Adds a wait, which is checked soon. */
void watch_add(struct watch *w, struct op *op, uint64_t now_ns);
/* Takes the first wait, which must exist. watch_again appends it as the last. */
struct op *watch_take(struct watch *w);
void watch_again(struct watch *w, struct op *op);
/* Waits were checked. `came`: the value of one of them has come. */
void watch_looked(struct watch *w, bool came, uint64_t completed, uint64_t now_ns);
/* Forgets all waits. */
void watch_forget(struct watch *w);

/* True when the cell has the value that the operation waits for. */
bool watch_met(const struct op *op, uint64_t cell);

#endif
