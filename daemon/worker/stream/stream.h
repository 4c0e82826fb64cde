/* SPDX-License-Identifier: Apache-2.0
 *
 * Per-stream queues of a client's operations: order within a stream, waits on other streams, and
 * the implicit order of CUDA's legacy default stream (id 0).
 *
 * A stream's operations [head, next) live in a ring indexed by sequence number. [head, cursor) are
 * on the device or have passed; the one at `cursor` is the next to look at. Whoever waits for an
 * operation hangs on it, so that each completion wakes exactly those who can go on.
 *
 * Legacy order: an operation of stream 0 starts when all earlier ones of blocking streams are
 * complete, and these when the stream-0 operation before them is. So between two operations of
 * stream 0 lies an epoch, at most one of which runs at a time; client.legacy_pending counts what is
 * incomplete in the running one, and op.following what waits in the others.
 */
#ifndef DAEMON_WORKER_STREAM_STREAM_H
#define DAEMON_WORKER_STREAM_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "common/list.h"
#include "daemon/worker/stream/op.h"

struct client;

enum stream_state {
    STREAM_READY,
    STREAM_OFFERED, /* its operation at `cursor` is with the scheduler */
    STREAM_BLOCKED, /* something else will kick it */
};

struct stream {
    struct client *client;
    struct list active;         /* worker.active */
    struct stream *next_waiter; /* in the one list that blocks it */
    struct dev_queue *queue;    /* NULL when it does not exist or its client is dead */
    struct op **ring;
    uint64_t ring_mask;
    uint64_t head, cursor, next; /* sequence numbers */
    uint64_t last_end_ns;        /* when the latest completed operation ended */
    uint32_t id;
    uint8_t state; /* enum stream_state */
    bool open;     /* the client may use it */
    bool closing;  /* destroyed by the client, operations left */
    bool nonblocking;
};

/* Stream `id` of the client, beginning at `first_seq`; a destroyed id may be used again with later
 * numbers. 0, -errno, or ERR_PROTOCOL when it exists or the numbers go back. */
int stream_open(struct client *c, uint32_t id, bool nonblocking, int priority, uint64_t first_seq);
/* The client destroyed it: its queue goes once it is empty. */
void stream_close(struct stream *s);
void stream_free(struct stream *s);

/* Appends an operation whose seq is s->next. 0 or -ENOMEM, with `op` still the caller's. */
int stream_push(struct stream *s, struct op *op);

/* Goes as far as it can: passes waits and records, offers the next device operation. */
void stream_advance(struct stream *s);
/* Takes completed operations off the head and publishes how far the stream is: never further than
 * what ran to success. The fault of one that failed is raised before. */
void stream_retire(struct stream *s);
/* The client is dead: whatever is not on the device is dropped, and the client not told of it. */
void stream_skip(struct stream *s);

/* Has stream_advance called at the next pump. */
void stream_kick(struct stream *s);
/* Unblocks every stream of a list, and empties it. */
void stream_kick_list(struct stream **list);

static inline struct op *stream_at(const struct stream *s, uint64_t seq) {
    return s->ring[seq & s->ring_mask];
}

#endif
