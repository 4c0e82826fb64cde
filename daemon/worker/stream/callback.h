/* SPDX-License-Identifier: Apache-2.0
 *
 * Host functions. The client gets their tokens in order, runs them on a thread of its own, and
 * counts those that returned in wire_submission.callbacks_done. The counter is outside the ring, so
 * that a full ring cannot delay it. The client rings the doorbell after counting.
 *
 * Owner: the client. Thread: the worker's.
 */
#ifndef DAEMON_WORKER_STREAM_CALLBACK_H
#define DAEMON_WORKER_STREAM_CALLBACK_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/worker/page/completion_page.h"

struct op;
struct stream;

struct callbacks {
    uint64_t posted, done, restored; /* counts of host functions: posted, taken back, and posted by
                                        an earlier worker */
    struct stream *waiters;          /* streams that wait for a free slot to post into */
    struct op *ops[WIRE_CALLBACKS];  /* posted and not returned; index as on the wire; NULL: posted
                                        by an earlier worker and complete */
    bool restoring;
};

static inline bool callback_any(const struct callbacks *b) {
    return b->posted != b->done;
}
/* False when WIRE_CALLBACKS are posted and have not returned. */
bool callback_post(struct callbacks *b, struct op *op, struct completion *com);
/* Restores the state of an earlier worker's client, whose page has the posted number; `done` are
 * complete. False: the page's numbers are not possible. */
bool callback_restore(struct callbacks *b, const struct completion *com, uint64_t done);
/* Registers an operation that is read again: it may be posted already. */
void callback_again(struct callbacks *b, struct op *op, const struct completion *com);
/* All operations are registered: a posted token without one is complete. */
void callback_settle(struct callbacks *b);
/* True when callback_returned would find some. */
bool callback_ready(const struct callbacks *b, const struct wire_submission *sub);
/* Number of host functions that returned, read once from the page; ERR_PROTOCOL: more than were
 * posted. The caller then takes each. */
int callback_returned(const struct callbacks *b, const struct wire_submission *sub);
struct op *callback_take(struct callbacks *b);
/* The client is dead: its host functions are no longer awaited. */
void callback_forget(struct callbacks *b);

#endif
