/* SPDX-License-Identifier: Apache-2.0
 *
 * On a deterministic device a client's operations run in the order in which it sent them, over all
 * of its streams, one at a time: so that neither when they arrive nor how long they take decides
 * which of two comes first. An operation goes ahead of earlier ones only where these wait for
 * something else: for a value of memory, for another process, behind a kernel that only asks for
 * what has not come (dev_inflight_ops.stalled), or behind such an operation.
 *
 * Operations of inner streams have no place in this order. They run as they come, while the
 * operation that they belong to is open.
 *
 * Here is who is next; stream.c lets it begin. Owner: the stream set. Thread: the worker's.
 */
#ifndef DAEMON_WORKER_STREAM_OP_ORDER_H
#define DAEMON_WORKER_STREAM_OP_ORDER_H

#include <stdbool.h>
#include <stdint.h>

struct op;

/* Operations that are not complete, by op.turn; NULL where one is complete. */
struct op_line {
    struct op **ring;
    uint64_t mask, low, next; /* turns */
};

struct op_order {
    bool on;
    uint64_t running; /* operations that have begun and are not complete, on the device or aside */
    uint64_t open;    /* the same of those whose inner streams' go on meanwhile */
    struct op_line line;
};

void op_order_finish(struct op_order *o);

/* A new operation, behind all others. 0 or -ENOMEM. */
int op_order_push(struct op_order *o, struct op *op);
/* It begins, and is more than a mark. */
void op_order_begin(struct op_order *o, struct op *op);
/* It is complete. */
void op_order_retire(struct op_order *o, struct op *op);
/* The first operation that has not begun and of whose stream `waits` says that it waits for nothing
 * but its turn; NULL: there is none, or an operation is open. */
struct op *op_order_next(const struct op_order *o, bool (*waits)(const struct op *op));

#endif
