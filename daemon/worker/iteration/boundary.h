/* SPDX-License-Identifier: Apache-2.0
 *
 * The iteration to which each operation of a client belongs. The detector (iteration.h) finds the
 * records that begin an iteration. While operations of the current iteration are open, new
 * operations belong to the next one. The ring is read no further than to the end of the next one:
 * the record that would begin a third iteration waits.
 *
 * Owner: the client. Thread: the worker's.
 */
#ifndef DAEMON_WORKER_ITERATION_BOUNDARY_H
#define DAEMON_WORKER_ITERATION_BOUNDARY_H

#include <stdbool.h>
#include <stdint.h>

#include "common/list.h"
#include "daemon/sched/iteration_gate.h"
#include "daemon/worker/iteration/iteration.h"
#include "daemon/worker/stream/op.h"

struct boundary {
    struct iteration *detector;
    struct iteration_gate
        iteration_gate; /* the iterations of operations accepted and not complete */
    uint64_t earlier;   /* boundaries that an earlier worker published to the client */
    struct list link;   /* worker.boundaries.passing */
    struct op *held; /* the operation that would begin a third iteration; NULL when a mark would */
    bool holds;      /* an operation or a mark is held: the ring is not read */
    /* the time of the hold, and the operations complete by then */
    uint64_t held_ns, held_completed;
    /* the range that the held operation writes, unless it is a launch */
    uint64_t held_addr, held_bytes;
    bool waiting; /* the iteration may end without an operation: worker.boundaries.waiting */
    bool early;   /* the boundary could be passed, but nothing of the next iteration has come */
};

int boundary_init(struct boundary *b); /* 0 or -ENOMEM */
void boundary_finish(struct boundary *b);

/* Holds the record that would begin the third iteration. */
void boundary_hold(struct boundary *b, struct op *op, uint64_t completed, uint64_t now_ns);
static inline bool boundary_holds(const struct boundary *b) {
    return b->holds;
}
/* Ends the hold; returns the held operation, or NULL. */
struct op *boundary_release(struct boundary *b);

/* The current iteration may be complete: the next pump checks it. */
static inline void boundary_ready(struct boundary *b, struct list *passing) {
    if (list_empty(&b->link)) list_append(passing, &b->link);
}

static inline void boundary_pushed(struct boundary *b, struct op *op, struct list *passing) {
    op->iteration = iteration_gate_send(&b->iteration_gate);
    if (b->early) boundary_ready(b, passing);
}

static inline void boundary_completed(struct boundary *b, uint32_t iteration,
                                      struct list *passing) {
    if (iteration_gate_end(&b->iteration_gate, iteration)) boundary_ready(b, passing);
}

#endif
