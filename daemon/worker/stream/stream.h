/* SPDX-License-Identifier: Apache-2.0
 *
 * Per-stream queues of a client's operations: order within a stream, waits on other streams, the
 * implicit order of CUDA's legacy default stream (id 0), and what waits for all of them.
 *
 * A stream's operations [head, next) live in a ring indexed by sequence number. [head, cursor) are
 * on the device or have passed; the one at `cursor` is the next to look at. Whoever waits for an
 * operation hangs on it, so that each completion wakes exactly those who can go on.
 *
 * Legacy order: an operation of stream 0 starts when all earlier ones of blocking streams are
 * complete, and these when the stream-0 operation before them is. So between two operations of
 * stream 0 lies an epoch, at most one of which runs at a time; set.legacy_pending counts what is
 * incomplete in the running one, and op.following what waits in the others.
 *
 * A conditional node is an operation of a stream, and its body's operations are those of inner
 * streams, which belong to that stream (body.h). No client sees them: they take the place of the
 * conditional node among all operations, are counted nowhere, and have no part in the legacy order.
 * So do those of a graph that a kernel launched, in the place of the graph that this is part of.
 *
 * Nothing here knows what an operation does: what may run, and what is complete, is returned.
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
    STREAM_OFFERED, /* its operation at `cursor` is with the scheduler */
    STREAM_BLOCKED, /* something else will kick it */
};

struct body;
struct choice;

/* Of an operation, in whose place those of an inner stream are. */
struct stream_place {
    uint64_t number;
    uint32_t iteration;
};

#define STREAM_INNER_MAX 4096u /* of a client */

struct stream {
    struct stream_set *set;
    struct stream *parent;            /* that it is an inner one of; NULL: the client's own */
    struct body *body;                /* that it is a lane of; NULL: the client's own */
    const struct stream_place *place; /* that one has */
    struct choice *choice; /* of the conditional node at its cursor; NULL: there was none yet */
    struct list active;    /* set.active */
    struct stream *next_waiter; /* in the one list that blocks it */
    struct dev_queue *queue;    /* NULL when it does not exist or its client is dead */
    struct op **ring;
    uint64_t ring_mask;
    uint64_t head, cursor, next;     /* sequence numbers */
    uint64_t last_end_ns;            /* when the latest completed operation ended */
    uint64_t op_start_ns, op_end_ns; /* of the latest one that the device had: when */
    uint32_t id;                     /* WIRE_STREAMS at least: an inner one */
    int priority;
    uint32_t share; /* as stream_share was told */
    uint8_t state;  /* enum stream_state */
    bool open;      /* the client may use it */
    bool closing;   /* destroyed by the client, operations left */
    bool nonblocking;
    bool stale; /* its queue has another priority */
    bool gated; /* blocked until its operation's turn in stream_set.order */
};

/* All that a client has sent and that is not complete. */
struct stream_set {
    struct stream **streams; /* [WIRE_STREAMS] */
    uint32_t end;            /* no stream has this id or a higher one */
    struct stream **inner;
    uint32_t inner_count;
    struct list due; /* body.due: those that go on with the next sweep */
    uint32_t level;  /* of the device's priorities, of all streams */
    uint32_t share;  /* as stream_set_share was told, of all streams */
    bool still;      /* as stream_set_still was */
    const struct dev_ops *ops;
    struct dev_space *space;
    struct completion *com;
    struct list *active;        /* streams that may have something to do, of all clients */
    uint64_t pushed, completed; /* operations; the first is the next one's number */
    uint64_t legacy_pending;
    uint64_t blocking_end_ns;             /* when the latest operation of a blocking stream ended */
    bool legacy_blocked;                  /* stream 0 waits for legacy_pending to become 0 */
    struct op *deferred, **deferred_last; /* what waits for all before it: deferred.h */
    uint64_t deferred_count;
    struct op_order order; /* order.on: before the first stream is opened */
    struct stream *fenced; /* streams whose next operation comes after the first of these */
};

/* 0 or -ENOMEM. `space` is set before the first stream is opened. */
int stream_set_init(struct stream_set *set, const struct dev_ops *ops, struct completion *com,
                    struct list *active);
void stream_set_finish(struct stream_set *set); /* before its space is destroyed */
/* All streams, those that will be opened as well, have this level of the device's priorities. */
void stream_set_level(struct stream_set *set, uint32_t level);

/* Stream `id`, beginning at `first_seq`; a destroyed id may be used again with later numbers. 0,
 * -errno, or ERR_PROTOCOL when it exists or the numbers go back. */
int stream_open(struct stream_set *set, uint32_t id, bool nonblocking, int priority,
                uint64_t first_seq);
/* It is empty, and goes on with this number, which the client may have been told is complete. */
void stream_rewind(struct stream *s, uint64_t seq);
/* Sets the stream's priority, from when it is empty on: a queue keeps the one it was made with. */
void stream_prioritize(struct stream *s, int priority);
/* Runs the stream's kernels on at most so many multiprocessors, if the device can; 0: all. */
void stream_share(struct stream *s, uint32_t sms);
/* The same for all streams, those that will be opened as well. */
void stream_set_share(struct stream_set *set, uint32_t sms);
/* Their kernels stand still on the device, or go on, if it can do that; those of streams that will
 * be opened as well. */
void stream_set_still(struct stream_set *set, bool still);
/* The end of what is under way in it now is to be the device's own time; of stream 0, of what is in
 * those that it waits for. For what is behind it and tells that time. */
void stream_time(struct stream *s);
/* The client destroyed it: its queue goes once it is empty. */
void stream_close(struct stream *s);

/* Another inner stream of this one. NULL: no memory, or STREAM_INNER_MAX. */
struct stream *stream_open_inner(struct stream *parent);
/* The client's stream that it is, or that all of its parents belong to. */
static inline const struct stream *stream_root(const struct stream *s) {
    while (s->parent)
        s = s->parent;
    return s;
}
/* Any stream, inner ones too, by a number below the count; some are NULL. */
static inline uint32_t stream_count(const struct stream_set *set) {
    return set->end + set->inner_count;
}
static inline struct stream *stream_any(const struct stream_set *set, uint32_t i) {
    return i < set->end ? set->streams[i] : set->inner[i - set->end];
}

/* Appends an operation whose seq is s->next. 0 or -ENOMEM, with `op` still the caller's. A dead
 * client's is done already: retire it. */
int stream_push(struct stream *s, struct op *op);

/* Something of the client has changed: on a deterministic device the stream goes on whose operation
 * is the next one. */
void stream_order_kick(struct stream_set *set);
/* Nothing of the client runs that could still change memory, but for what stands still. */
bool stream_order_quiet(const struct stream_set *set);

/* Of a ready stream: passes waits and records, as far as it can go. The operation at the cursor
 * that may begin now: for the scheduler, or, when it is a host function, a wait for a value or a
 * conditional node, for whoever ends it (the stream is blocked then); NULL: none. Retire it
 * afterwards. */
struct op *stream_advance(struct stream *s);
/* Takes completed operations off the head and publishes how far the stream is: never further than
 * what ran to success. The fault of one that failed is raised before. They are the caller's to
 * free, linked by `next`, in their order. */
struct op *stream_retire(struct stream *s);
/* The client is dead: whatever is not on the device is dropped, and the client not told of it.
 * Retire it afterwards. */
void stream_skip(struct stream *s);

/* Puts the stream on the list of those to be advanced. */
static inline void stream_kick(struct stream *s) {
    if (list_empty(&s->active)) list_append(s->set->active, &s->active);
}
/* It waits until the list is kicked, which unblocks all of it and empties it. */
void stream_block(struct stream *s, struct stream **list);
void stream_kick_waiters(struct stream **list);
static inline void stream_kick_list(struct stream **list) {
    if (*list) stream_kick_waiters(list);
}

static inline struct op *stream_at(const struct stream *s, uint64_t seq) {
    return s->ring[seq & s->ring_mask];
}

/* The stream, when the client has it open. */
static inline struct stream *stream_find(const struct stream_set *set, uint32_t id) {
    struct stream *s = set->streams[id];
    return s && s->open ? s : NULL;
}

#endif
