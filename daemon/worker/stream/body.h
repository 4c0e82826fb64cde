/* SPDX-License-Identifier: Apache-2.0
 *
 * A graph that is read into inner streams, a lane each: the body of a conditional node
 * (conditional.h), or what a kernel launched (device_launch.h). So many of its records are read at
 * a time that neither the quota of the client nor what else it has queued can stand in their way.
 *
 * Who reads them finds in stream_set.due where there is something to do: a body is over, or there
 * is room for more of its records.
 *
 * Owner: the conditional node's stream, or the client's launching. Thread: the worker's.
 */
#ifndef DAEMON_WORKER_STREAM_BODY_H
#define DAEMON_WORKER_STREAM_BODY_H

#include "daemon/worker/stream/stream.h"

#define BODY_AHEAD 64u /* records of a body that are read and not complete */

struct environment;

struct body {
    struct stream *parent;        /* in whose place among the client's it runs */
    struct environment *launched; /* of what a kernel launched; NULL: the node at parent's cursor */
    struct graph_cursor next;     /* nowhere: it is read, or none was entered */
    uint64_t open;                /* operations of it that are not complete */
    struct stream_place place;
    bool worked;                       /* it has had something for the device */
    uint64_t before[WIRE_GRAPH_LANES]; /* the last number in each lane before the body */
    struct stream *lanes[WIRE_GRAPH_LANES];
    struct list due; /* stream_set.due */
};

void body_init(struct body *b, struct stream *parent);
/* It is to be looked at. */
void body_due(struct body *b);
/* The next one with something to do; NULL: none. */
struct body *body_take(struct stream_set *set);

/* Nothing of it is left. */
static inline bool body_over(const struct body *b) {
    return !b->next.graph && !b->open;
}
/* There is another record, and room for it. */
static inline bool body_reads(const struct body *b) {
    return b->next.graph && b->open < BODY_AHEAD;
}

/* This graph, in the place of an operation with this number. 0 or -ENOMEM. */
int body_enter(struct body *b, struct graph *graph, uint64_t number, uint32_t iteration);

/* An operation of it: 0 or -ENOMEM, with `op` still the caller's. */
int body_push(struct stream *lane, struct op *op);
/* So many operations of an inner stream are complete. */
void body_retired(struct stream *lane, uint64_t count);

#endif
