/* SPDX-License-Identifier: Apache-2.0
 *
 * Host functions.
 */
#include "daemon/worker/stream/callback.h"

#include "common/atomics.h"
#include "common/err.h"
#include "daemon/worker/stream/op.h"

/* True when an earlier worker posted the operation's token. */
static bool is_posted(const struct callbacks *b, const struct op *op) {
    for (uint64_t i = b->done; i < b->restored; i++)
        if (b->ops[i % WIRE_CALLBACKS] == op) return true;
    return false;
}

bool callback_restore(struct callbacks *b, const struct completion *com, uint64_t done) {
    uint64_t posted = atom_load_relaxed(&com->page->callbacks_posted);
    if (posted - done > WIRE_CALLBACKS) return false;
    b->posted = b->restored = posted;
    b->done = done;
    b->restoring = posted != done;
    return true;
}

void callback_again(struct callbacks *b, struct op *op, const struct completion *com) {
    for (uint64_t i = b->done; i < b->restored; i++) {
        struct op **at = &b->ops[i % WIRE_CALLBACKS];
        if (*at || com->page->callbacks[i % WIRE_CALLBACKS] != op->token) continue;
        *at = op;
        return;
    }
}

void callback_settle(struct callbacks *b) {
    b->restoring = false;
}

bool callback_post(struct callbacks *b, struct op *op, struct completion *com) {
    uint64_t at = b->posted % WIRE_CALLBACKS;
    if (is_posted(b, op)) {
        op->state = OP_POSTED;
        return true;
    }
    if (b->posted - b->done >= WIRE_CALLBACKS) return false;
    com->page->callbacks[at] = op->token;
    b->ops[at] = op;
    op->state = OP_POSTED;
    atom_store_release(&com->page->callbacks_posted, ++b->posted);
    com->published = true;
    return true;
}

/* The number of returned host functions before the first whose operation this worker has yet to
 * begin. */
static uint64_t begun_of(const struct callbacks *b, uint64_t returned) {
    uint64_t count = 0;
    while (count < returned && b->done + count < b->restored) {
        const struct op *op = b->ops[(b->done + count) % WIRE_CALLBACKS];
        if (op && op->state != OP_POSTED) return count;
        count++;
    }
    return returned;
}

bool callback_ready(const struct callbacks *b, const struct wire_submission *sub) {
    if (!callback_any(b) || b->restoring) return false;
    uint64_t returned = atom_load_relaxed(&sub->callbacks_done) - b->done;
    return returned && begun_of(b, returned);
}

int callback_returned(const struct callbacks *b, const struct wire_submission *sub) {
    uint64_t returned = atom_load_acquire(&sub->callbacks_done) - b->done;
    if (b->restoring) return 0;
    return returned > b->posted - b->done ? ERR_PROTOCOL : (int)begun_of(b, returned);
}

struct op *callback_take(struct callbacks *b) {
    return b->ops[b->done++ % WIRE_CALLBACKS];
}

void callback_forget(struct callbacks *b) {
    b->done = b->posted;
}
