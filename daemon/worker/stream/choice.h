/* SPDX-License-Identifier: Apache-2.0
 *
 * The conditional node that stands at a stream's cursor: its bodies are read one after the other
 * into inner streams, a lane each, so many records at a time that neither the quota of the client
 * nor what else it has queued can stand in their way.
 *
 * Who reads them finds in stream_set.due where there is something to do: a body is to be chosen, or
 * there is room for more of its records.
 *
 * Owner: the stream. Thread: the worker's.
 */
#ifndef DAEMON_WORKER_STREAM_CHOICE_H
#define DAEMON_WORKER_STREAM_CHOICE_H

#include "daemon/worker/stream/stream.h"

#define CHOICE_AHEAD 64u /* records of a body that are read and not complete */

struct choice {
    struct graph_cursor next;          /* in the body; nowhere: it is read, or none was chosen */
    uint64_t open;                     /* operations of it that are not complete */
    uint64_t turns;                    /* bodies that were begun */
    bool worked;                       /* the latest has had something for the device */
    uint64_t before[WIRE_GRAPH_LANES]; /* the last number in each lane before the body */
    struct stream *lanes[WIRE_GRAPH_LANES];
};

/* The operation at the cursor is one, and it is its turn. 0 or -ENOMEM. */
int choice_begin(struct stream *s);
/* The next stream with something to do; NULL: none. */
struct stream *choice_take(struct stream_set *set);

/* Nothing of a body is left, so that the next one can be chosen. */
static inline bool choice_over(const struct choice *c) {
    return !c->next.graph && !c->open;
}
/* This body. 0 or -ENOMEM. */
int choice_enter(struct stream *s, struct graph *body);
/* There is another record, and room for it. */
static inline bool choice_reads(const struct choice *c) {
    return c->next.graph && c->open < CHOICE_AHEAD;
}

/* An operation of a body: 0 or -ENOMEM, with `op` still the caller's. */
int choice_push(struct stream *lane, struct op *op);
/* So many operations of an inner stream are complete. */
void choice_retired(struct stream *lane, uint64_t count);

#endif
