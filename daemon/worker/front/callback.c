/* SPDX-License-Identifier: Apache-2.0
 *
 * Host functions.
 */
#include "daemon/worker/front/callback.h"

#include "common/atomics.h"
#include "daemon/worker/client.h"
#include "daemon/worker/fault.h"

bool callback_post(struct client *c, struct op *op) {
    uint64_t at = c->callbacks_posted % WIRE_CALLBACKS;
    if (c->callbacks_posted - c->callbacks_done >= WIRE_CALLBACKS) return false;
    c->com->callbacks[at] = op->token;
    c->callbacks[at] = op;
    op->state = OP_POSTED;
    atom_store_release(&c->com->callbacks_posted, ++c->callbacks_posted);
    c->published = true;
    return true;
}

bool callback_ready(const struct client *c) {
    return c->callbacks_posted != c->callbacks_done &&
           atom_load_relaxed(&c->sub->callbacks_done) != c->callbacks_done;
}

unsigned callback_collect(struct client *c) {
    unsigned count = 0;
    if (c->callbacks_posted == c->callbacks_done) return 0;
    uint64_t done = atom_load_acquire(&c->sub->callbacks_done);
    if (done - c->callbacks_done > c->callbacks_posted - c->callbacks_done) {
        fault_expel(c, "more host functions returned than were called");
        return 0;
    }
    for (; c->callbacks_done != done; count++) {
        struct op *op = c->callbacks[c->callbacks_done++ % WIRE_CALLBACKS];
        op->state = OP_DONE;
        op->dev.end_ns = c->worker->now_ns;
        op->stream->state = STREAM_READY;
        stream_retire(op->stream);
    }
    if (count) stream_kick_list(&c->callback_waiters);
    return count;
}

void callback_forget(struct client *c) {
    c->callbacks_done = c->callbacks_posted;
}
