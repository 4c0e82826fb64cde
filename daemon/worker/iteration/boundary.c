/* SPDX-License-Identifier: Apache-2.0
 *
 * Boundaries: the beginning of an iteration, and the operation that it holds up.
 */
#include "daemon/worker/iteration/boundary.h"

int boundary_init(struct boundary *b) {
    *b = (struct boundary){0};
    list_init(&b->link);
    return iteration_create(&b->detector);
}

void boundary_finish(struct boundary *b) {
    list_remove(&b->link);
    iteration_destroy(b->detector);
}

void boundary_hold(struct boundary *b, struct op *op, uint64_t completed, uint64_t now_ns) {
    b->held = op;
    b->holds = true;
    b->held_ns = now_ns;
    b->held_completed = completed;
}

struct op *boundary_release(struct boundary *b) {
    struct op *op = b->held;
    b->held = NULL;
    b->holds = false;
    return op;
}
