/* SPDX-License-Identifier: Apache-2.0
 *
 * Which of a client's iterations each of its operations belongs to. An iteration is found to begin
 * with a record (iteration.h). It is the next one while operations of the current one are open; the
 * ring is read no further than to the end of it: the record that would begin a third one waits.
 *
 * Owner: the client. Thread: the worker's.
 */
#ifndef DAEMON_WORKER_ITERATION_BOUNDARY_H
#define DAEMON_WORKER_ITERATION_BOUNDARY_H

#include <stdbool.h>
#include <stdint.h>

#include "common/list.h"
#include "daemon/sched/passage.h"
#include "daemon/worker/iteration/iteration.h"
#include "daemon/worker/stream/op.h"

struct boundary {
    struct iteration *detector;
    struct passage passage; /* of operations accepted and not complete */
    uint64_t earlier;       /* boundaries that the client was told of by an earlier worker */
    struct list link;       /* worker.boundaries.passing */
    struct op *held; /* the operation that would begin a third iteration; NULL when a mark did */
    bool holds;      /* there is one, or a mark: the ring is not read */
    uint64_t held_ns, held_completed; /* since when, and how many were complete then */
    uint64_t held_addr, held_bytes;   /* what the held operation writes, unless it is a launch */
    bool waiting; /* the iteration may be over although nothing comes: worker.boundaries.waiting */
    bool early;   /* it could be passed, but nothing of the next iteration has come yet */
};

int boundary_init(struct boundary *b); /* 0 or -ENOMEM */
void boundary_finish(struct boundary *b);

/* The record that would begin the third iteration waits. */
void boundary_hold(struct boundary *b, struct op *op, uint64_t completed, uint64_t now_ns);
static inline bool boundary_holds(const struct boundary *b) {
    return b->holds;
}
/* No longer: the operation that waited, or NULL. */
struct op *boundary_release(struct boundary *b);

/* The current iteration may be complete: it is looked at in the next pump. */
static inline void boundary_ready(struct boundary *b, struct list *passing) {
    if (list_empty(&b->link)) list_append(passing, &b->link);
}

static inline void boundary_pushed(struct boundary *b, struct op *op, struct list *passing) {
    op->iteration = passage_send(&b->passage);
    if (b->early) boundary_ready(b, passing);
}

static inline void boundary_completed(struct boundary *b, uint32_t iteration,
                                      struct list *passing) {
    if (passage_end(&b->passage, iteration)) boundary_ready(b, passing);
}

#endif
