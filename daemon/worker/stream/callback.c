/* SPDX-License-Identifier: Apache-2.0
 *
 * Host functions.
 */
#include "daemon/worker/stream/callback.h"

#include "common/atomics.h"
#include "common/err.h"
#include "daemon/worker/stream/op.h"

bool callback_post(struct callbacks *b, struct op *op, struct completion *com) {
    uint64_t at = b->posted % WIRE_CALLBACKS;
    if (b->posted - b->done >= WIRE_CALLBACKS) return false;
    com->page->callbacks[at] = op->token;
    b->ops[at] = op;
    op->state = OP_POSTED;
    atom_store_release(&com->page->callbacks_posted, ++b->posted);
    com->published = true;
    return true;
}

bool callback_ready(const struct callbacks *b, const struct wire_submission *sub) {
    return callback_any(b) && atom_load_relaxed(&sub->callbacks_done) != b->done;
}

int callback_returned(const struct callbacks *b, const struct wire_submission *sub) {
    uint64_t returned = atom_load_acquire(&sub->callbacks_done) - b->done;
    return returned > b->posted - b->done ? ERR_PROTOCOL : (int)returned;
}

struct op *callback_take(struct callbacks *b) {
    return b->ops[b->done++ % WIRE_CALLBACKS];
}

void callback_forget(struct callbacks *b) {
    b->done = b->posted;
}
