/* SPDX-License-Identifier: Apache-2.0
 *
 * Host functions: the client is handed their tokens in order, runs them on a thread of its own, and
 * counts those that returned in wire_submission.callbacks_done, outside the ring, so that a full
 * ring cannot hold one up. It rings the doorbell after counting.
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
    uint64_t posted, done, restored; /* the last: of these, by an earlier worker */
    struct stream *waiters;          /* no place free to post into */
    struct op *ops[WIRE_CALLBACKS];  /* posted and not returned; index as on the wire; NULL: of an
                                        earlier worker, and complete */
    bool restoring;
};

static inline bool callback_any(const struct callbacks *b) {
    return b->posted != b->done;
}
/* False when WIRE_CALLBACKS are posted and have not returned. */
bool callback_post(struct callbacks *b, struct op *op, struct completion *com);
/* Of a client that an earlier worker had, whose page says what was posted; so many are complete.
 * False: no page says so. */
bool callback_restore(struct callbacks *b, const struct completion *com, uint64_t done);
/* An operation of then: it may be posted already. */
void callback_again(struct callbacks *b, struct op *op, const struct completion *com);
/* All of them are known: what is posted without one is complete. */
void callback_settle(struct callbacks *b);
/* True when callback_returned would find something. */
bool callback_ready(const struct callbacks *b, const struct wire_submission *sub);
/* How many returned, from the page once; ERR_PROTOCOL: more than were called. Each is then taken.
 */
int callback_returned(const struct callbacks *b, const struct wire_submission *sub);
struct op *callback_take(struct callbacks *b);
/* The client is dead: nobody waits for its host functions any more. */
void callback_forget(struct callbacks *b);

#endif
