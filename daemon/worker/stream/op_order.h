/* SPDX-License-Identifier: Apache-2.0
 *
 * The order of a client's operations on a deterministic device: that of sending, over all of its
 * streams, one at a time. So neither arrival times nor durations decide which of two comes first.
 * An operation overtakes earlier ones only where these wait for something else: a value of memory,
 * another process, a kernel that polls for what has not come (dev_inflight_ops.stalled), or an
 * operation that waits likewise.
 *
 * Operations of inner streams have no place in this order. They run as they come, while the
 * operation to which they belong is open.
 *
 * This file decides which operation is next; stream.c begins it. Owner: the stream set. Thread: the
 * worker's.
 */
#ifndef DAEMON_WORKER_STREAM_OP_ORDER_H
#define DAEMON_WORKER_STREAM_OP_ORDER_H

#include <stdbool.h>
#include <stdint.h>

struct op;

/* Incomplete operations, by op.turn; NULL where one is complete. */
struct op_line {
    struct op **ring;
    uint64_t mask, low, next; /* turns */
};

struct op_order {
    bool on;
    uint64_t running; /* operations begun and not complete, on the device or elsewhere */
    uint64_t open;    /* likewise, for operations whose inner streams continue meanwhile */
    struct op_line line;
};

void op_order_finish(struct op_order *o);

/* Appends a new operation. 0 or -ENOMEM. */
int op_order_push(struct op_order *o, struct op *op);
/* The operation begins, and is more than a mark. */
void op_order_begin(struct op_order *o, struct op *op);
/* The operation is complete. */
void op_order_retire(struct op_order *o, struct op *op);
/* The first operation that has not begun and waits only for its turn: `waits` returns false for it.
 * NULL: there is none, or an operation is open. */
struct op *op_order_next(const struct op_order *o, bool (*waits)(const struct op *op));

#endif
