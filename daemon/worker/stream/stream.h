/* SPDX-License-Identifier: Apache-2.0
 *
 * Per-stream queues of a client's operations: order within a stream, waits on other streams, the
 * implicit order of CUDA's legacy default stream (id 0), and records that wait for all streams.
 *
 * A stream's operations [head, next) live in a ring indexed by sequence number. [head, cursor) are
 * on the device or have passed; the one at `cursor` is the next to look at. A waiting stream is in
 * the list of the operation that it waits for, so that each completion wakes exactly the streams
 * that can continue.
 *
 * Legacy order: an operation of stream 0 starts when all earlier ones of blocking streams are
 * complete, and these start when the stream-0 operation before them is. So an epoch lies between
 * two operations of stream 0, and at most one epoch runs at a time. set.legacy_pending counts
 * incomplete operations of the running epoch, and op.following those of the others.
 *
 * A conditional node is an operation of a stream. Its body's operations are in inner streams, which
 * belong to that stream (body.h). Clients do not see inner streams: their operations take the
 * conditional node's place among all operations, are not counted, and have no part in the legacy
 * order. The same holds for a graph that a kernel launched, in the place of the launching graph.
 *
 * This file knows nothing of an operation's work: it returns which may run, and which are complete.
 */
#ifndef DAEMON_WORKER_STREAM_STREAM_H
#define DAEMON_WORKER_STREAM_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "common/list.h"
#include "daemon/worker/page/completion_page.h"
#include "daemon/worker/stream/op.h"
#include "daemon/worker/stream/op_order.h"

enum stream_state {
    STREAM_READY,
    STREAM_OFFERED, /* the operation at `cursor` is with the scheduler */
    STREAM_BLOCKED, /* some other event will kick it */
};

struct body;
struct choice;

/* The place of an operation that inner streams share. */
struct stream_place {
    uint64_t number;
    uint32_t iteration;
};

#define STREAM_INNER_MAX 4096u /* limit for a client */

struct stream {
    struct stream_set *set;
    struct stream *parent; /* the stream of which it is an inner one; NULL: the client's own */
    struct body *body;     /* the body of which it is a lane; NULL: the client's own */
    const struct stream_place *place; /* the body's place */
    struct choice *choice;      /* the conditional node at the cursor; NULL: there was none yet */
    struct list active;         /* set.active */
    struct stream *next_waiter; /* in the only list that blocks it */
    struct dev_queue *queue;    /* NULL when the stream does not exist or its client is dead */
    struct op **ring;
    uint64_t ring_mask;
    uint64_t head, cursor, next;     /* sequence numbers */
    uint64_t last_end_ns;            /* end time of the latest completed operation */
    uint64_t op_start_ns, op_end_ns; /* times of the latest operation that the device ran */
    uint32_t id;                     /* an inner stream has at least WIRE_STREAMS */
    int priority;
    uint32_t share; /* the argument of stream_share */
    uint8_t state;  /* enum stream_state */
    bool open;      /* the client may use it */
    bool closing;   /* the client destroyed it, and it still has operations */
    bool nonblocking;
    bool stale; /* the queue has another priority */
    bool gated; /* blocked until its operation's turn in stream_set.order */
};

/* All operations that a client has sent and that are not complete. */
struct stream_set {
    struct stream **streams; /* [WIRE_STREAMS] */
    uint32_t end;            /* no stream has this id or a higher one */
    struct stream **inner;
    uint32_t inner_count;
    struct list due; /* body.due: bodies that the next sweep continues */
    uint32_t level;  /* device priority of all streams */
    uint32_t share;  /* the argument of stream_set_share, for all streams */
    bool still;      /* the argument of stream_set_still */
    const struct dev_ops *ops;
    struct dev_space *space;
    struct completion *com;
    struct list *active;        /* streams of all clients that may have operations to start */
    uint64_t pushed, completed; /* operations; `pushed` is the next one's number */
    uint64_t legacy_pending;
    uint64_t blocking_end_ns; /* end time of the latest operation of a blocking stream */
    bool legacy_blocked;      /* stream 0 waits for legacy_pending to become 0 */
    struct op *deferred, **deferred_last; /* deferred requests: deferred.h */
    uint64_t deferred_count;
    struct op_order order; /* order.on is set before the first stream is opened */
    struct stream *fenced; /* streams whose next operation comes after the first deferred request */
};

/* 0 or -ENOMEM. `space` is set before the first stream is opened. */
int stream_set_init(struct stream_set *set, const struct dev_ops *ops, struct completion *com,
                    struct list *active);
void stream_set_finish(struct stream_set *set); /* called before its space is destroyed */
/* Sets the device priority of all streams, including later ones. */
void stream_set_level(struct stream_set *set, uint32_t level);

/* Opens stream `id`, beginning at `first_seq`; a destroyed id may be reused with higher numbers. 0,
 * -errno, or ERR_PROTOCOL when it exists or the numbers go back. */
int stream_open(struct stream_set *set, uint32_t id, bool nonblocking, int priority,
                uint64_t first_seq);
/* Sets the next number of an empty stream. Operations from this number on run again, though the
 * client may have been told that they are complete. */
void stream_rewind(struct stream *s, uint64_t seq);
/* Sets the stream's priority from when it is empty: a queue keeps the priority of its creation. */
void stream_prioritize(struct stream *s, int priority);
/* Limits the stream's kernels to this many multiprocessors, if the device can; 0: all. */
void stream_share(struct stream *s, uint32_t sms);
/* Sets that limit for all streams, including later ones. */
void stream_set_share(struct stream_set *set, uint32_t sms);
/* Suspends the kernels of all streams on the device, including later streams, or resumes them. Does
 * nothing where the device cannot. */
void stream_set_still(struct stream_set *set, bool still);
/* Requests the device's own time for the end of the work in the stream, and for stream 0 also in
 * those that it waits for. Later records report that time. */
void stream_time(struct stream *s);
/* The client destroyed the stream: its queue is closed once it is empty. */
void stream_close(struct stream *s);

/* Opens an inner stream of this one. NULL: no memory, or STREAM_INNER_MAX is reached. */
struct stream *stream_open_inner(struct stream *parent);
/* The client's stream to which the stream, through its parents, belongs. */
static inline const struct stream *stream_root(const struct stream *s) {
    while (s->parent)
        s = s->parent;
    return s;
}
/* Any stream, including inner ones, by an index below stream_count; some are NULL. */
static inline uint32_t stream_count(const struct stream_set *set) {
    return set->end + set->inner_count;
}
static inline struct stream *stream_any(const struct stream_set *set, uint32_t i) {
    return i < set->end ? set->streams[i] : set->inner[i - set->end];
}

/* Appends an operation whose seq is s->next. 0 or -ENOMEM, with `op` still the caller's. A dead
 * client's operation is done at once: the caller retires it. */
int stream_push(struct stream *s, struct op *op);

/* Something of the client has changed: on a deterministic device, kicks the stream of its next
 * operation. */
void stream_order_kick(struct stream_set *set);
/* True when no operation of the client runs that could still change memory. Stalled kernels do not
 * count. */
bool stream_order_quiet(const struct stream_set *set);

/* Passes waits and records of a ready stream as far as possible. Returns the operation at the
 * cursor if it may begin now, else NULL. The caller offers it to the scheduler, unless it is a host
 * function, a wait for a value, a conditional node or a graph's end: these block the stream, and
 * others end them. The caller retires the stream afterwards. */
struct op *stream_advance(struct stream *s);
/* Takes completed operations off the head and publishes the stream's progress, which covers only
 * successful operations. The fault of a failed one is raised before. The caller frees the
 * operations, linked by `next` in their order. */
struct op *stream_retire(struct stream *s);
/* The client is dead: drops all operations that are not on the device, without telling the client.
 * The caller retires the stream afterwards. */
void stream_skip(struct stream *s);

/* Puts the stream on the list of those to be advanced. */
static inline void stream_kick(struct stream *s) {
    if (list_empty(&s->active)) list_append(s->set->active, &s->active);
}
/* Blocks the stream until the list is kicked, which unblocks all of its streams and empties it. */
void stream_block(struct stream *s, struct stream **list);
void stream_kick_waiters(struct stream **list);
static inline void stream_kick_list(struct stream **list) {
    if (*list) stream_kick_waiters(list);
}

static inline struct op *stream_at(const struct stream *s, uint64_t seq) {
    return s->ring[seq & s->ring_mask];
}

/* The stream, if the client has it open. */
static inline struct stream *stream_find(const struct stream_set *set, uint32_t id) {
    struct stream *s = set->streams[id];
    return s && s->open ? s : NULL;
}

#endif
