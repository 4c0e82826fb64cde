/* SPDX-License-Identifier: Apache-2.0
 *
 * A client's iterations: which one each of its operations belongs to, and what is done between two
 * (Salus, section 3.3.1: fragmentation and switching are dealt with at iteration boundaries).
 *
 * An iteration is found to begin with a record (iteration.h). It is the next one while operations
 * of the current one are open; the ring is read no further than to the end of it: the record that
 * would begin a third one waits. Everything an operation waits for was sent before it, so what is
 * current always ends without what is not read. Where the current one is held up by what the
 * client does outside the ring (a host function, a kernel that waits for the host), reading goes on
 * after a while and the two iterations count as one (boundary_relent).
 *
 * Owner: the client. Thread: the worker's.
 */
#ifndef DAEMON_WORKER_ITERATION_BOUNDARY_H
#define DAEMON_WORKER_ITERATION_BOUNDARY_H

#include <stdbool.h>
#include <stdint.h>

#include "common/list.h"
#include "daemon/worker/iteration/iteration.h"
#include "daemon/worker/stream/op.h"

#define BOUNDARY_MEASURED 3 /* iterations after which a job's needs are known */

struct client;
struct worker;

struct boundary {
    struct iteration *detector;
    uint32_t current;  /* what the scheduler lets run */
    uint32_t reading;  /* what the next record belongs to: current, or the one after it */
    uint64_t open[2];  /* operations accepted and not complete, by the iteration's lowest bit */
    uint64_t first_op; /* client.pushed when `reading` began */
    uint64_t passed;   /* boundaries that were said to the scheduler */
    struct list link;  /* worker.passing */
    struct op *held;   /* the launch that would begin a third iteration; NULL when a mark did */
    uint64_t held_ns, held_completed; /* since when, and client.completed then */
    uint64_t begun_ns;                /* when `reading` began */
    bool early; /* it could be passed, but nothing of the next iteration has come yet */
};

int boundary_init(struct client *c);
void boundary_finish(struct client *c);

/* What the records say. A launch is pushed here, or held; `op->stream` is where to. 0 or -ENOMEM,
 * with `op` still the caller's. `print`: of its function alone. */
int boundary_launch(struct client *c, struct op *op, uint64_t print);
void boundary_mark(struct client *c);
void boundary_idle(struct client *c);

/* The current iteration may be complete: it is looked at in the next pump. */
void boundary_ready(struct boundary *b, struct list *passing);
/* It is, unless the client died: survivors are kept, the scheduler is told, the next one begins.
 * At a safe point only. */
void boundary_pass(struct client *c);
/* The client is dead: what is held is pushed, and completes at once like the rest. */
void boundary_forget(struct client *c);
/* Lets those read on whose current iteration does not get on by itself, and passes boundaries after
 * which nothing came. */
void boundary_relent(struct worker *w);

static inline void boundary_pushed(struct boundary *b, struct op *op, struct list *passing) {
    op->iteration = b->reading;
    b->open[b->reading & 1]++;
    if (b->early) boundary_ready(b, passing);
}

static inline void boundary_completed(struct boundary *b, uint32_t iteration,
                                      struct list *passing) {
    if (--b->open[iteration & 1] == 0 && iteration == b->current && b->reading != b->current)
        boundary_ready(b, passing);
}

#endif
