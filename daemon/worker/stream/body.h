/* SPDX-License-Identifier: Apache-2.0
 *
 * A graph that is read into inner streams, one for each lane: the body of a conditional node
 * (conditional.h), or a graph that a kernel launched (device_launch.h). A limited number of its
 * records is read ahead, outside the client's quota, so that other queued work never blocks it.
 * stream_set.due lists the bodies with work for the reader: a body is over, or has room for more
 * records.
 *
 * Owner: the conditional node's stream, or the client's launching. Thread: the worker's.
 */
#ifndef DAEMON_WORKER_STREAM_BODY_H
#define DAEMON_WORKER_STREAM_BODY_H

#include "daemon/worker/stream/stream.h"

#define BODY_AHEAD 64u /* records of a body that are read and not complete */

struct environment;

struct body {
    struct stream *parent; /* the client's stream in whose place it runs */
    /* The environment of a graph that a kernel launched; NULL: body of the node at parent's cursor.
     */
    struct environment *launched;
    struct graph_cursor next; /* nowhere: all is read, or no graph was entered */
    uint64_t open;            /* operations of the body that are not complete */
    struct stream_place place;
    bool worked;                       /* the body has had a launch, a copy or a fill */
    uint64_t before[WIRE_GRAPH_LANES]; /* the last number in each lane before the body */
    struct stream *lanes[WIRE_GRAPH_LANES];
    struct list due; /* stream_set.due */
};

void body_init(struct body *b, struct stream *parent);
/* Puts the body on the list for the reader. */
void body_due(struct body *b);
/* The next body with work for the reader; NULL: none. */
struct body *body_take(struct stream_set *set);

/* True when all of the body is read and complete. */
static inline bool body_over(const struct body *b) {
    return !b->next.graph && !b->open;
}
/* True when there is another record, and room for it. */
static inline bool body_reads(const struct body *b) {
    return b->next.graph && b->open < BODY_AHEAD;
}

/* Begins this graph, in the place of the operation with this number. 0 or -ENOMEM. */
int body_enter(struct body *b, struct graph *graph, uint64_t number, uint32_t iteration);

/* Pushes an operation of the body: 0 or -ENOMEM, with `op` still the caller's. */
int body_push(struct stream *lane, struct op *op);
/* `count` operations of an inner stream are complete. */
void body_retired(struct stream *lane, uint64_t count);

#endif
