/* SPDX-License-Identifier: Apache-2.0
 *
 * Graphs: sequences of records that the client says once and has read again by one record. They are
 * checked when they are complete, as far as that can be without the client's other tables; what is
 * read again goes the way of every record (exec.h), one at a time, under the client's quota.
 *
 * A graph with conditional nodes has their bodies, which are graphs too and were complete before
 * it: so none is ever inside of itself.
 *
 * Owner: the client, and for as long as they hold it graphs that it is a body of, and operations.
 * Thread: the worker's.
 */
#ifndef DAEMON_WORKER_STREAM_GRAPH_H
#define DAEMON_WORKER_STREAM_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/wire/wire.h"

struct graph;

struct graphs;

/* Where in a graph; `graph` NULL: nowhere. */
struct graph_cursor {
    struct graph *graph;
    uint64_t at; /* byte of it */
};

struct environment;

/* What is being read of a launched graph. */
struct graph_replay {
    struct graph_cursor next;
    struct graph *latest;            /* that the latest record was read of */
    struct environment *environment; /* of what its kernels launch; NULL: they launch none */
    uint64_t first_token;
    struct wire_graph_lane lanes[WIRE_GRAPH_LANES];
    struct wire_graph_wait waits[WIRE_GRAPH_WAITS];
};

/* All of a client. */
struct graphs {
    struct graph **table;        /* [WIRE_GRAPHS]; NULL before the first */
    uint32_t end;                /* none had this id or a higher one */
    struct graph_replay *replay; /* NULL before the first */
    uint64_t bytes;              /* of all of them */
};

void graph_finish(struct graphs *g);

/* The next piece of one. 0, or ERR_PROTOCOL with `text`: no honest client says that. */
int graph_data(struct graphs *g, const struct wire_graph_data *data, char *text, size_t text_bytes);
/* From now on its records are what graph_next gives; nothing may be left of another. */
int graph_launch(struct graphs *g, const struct wire_graph_launch *launch, char *text,
                 size_t text_bytes);
int graph_drop(struct graphs *g, uint32_t id, char *text, size_t text_bytes);

static inline bool graph_replaying(const struct graphs *g) {
    return g->replay && g->replay->next.graph;
}
/* The next record of the launched graph, as if it came from the ring: its length. `record` is
 * aligned to 8 and has RING_RECORD_MAX bytes. */
uint32_t graph_next(struct graphs *g, void *record);
/* The one that the record is of which graph_next gave last. */
static inline struct graph *graph_latest(const struct graphs *g) {
    return g->replay->latest;
}

/* Others were there before it. */
bool graph_has_bodies(const struct graphs *g, uint32_t id);
/* A graph that could be a body, with this number; NULL: none is, as WIRE_GRAPH_NONE. */
struct graph *graph_find_body(const struct graphs *g, uint32_t id);
/* It stays, whatever is dropped, until it is released as often. */
void graph_hold(struct graph *graph);
void graph_release(struct graph *graph);
/* Whether the graph that was launched last has kernels that launch others, and its handle. */
bool graph_settles(const struct graphs *g, uint64_t *handle);

/* ---- conditional nodes ----------------------------------------------------------------------- */

/* One that was read, as its operation has it. It holds its graph, until graph_drop_choice. */
struct graph_choice {
    struct graph *graph;
    uint64_t value; /* address in the host window */
    uint32_t kind, first, count;
};

struct graph_choice graph_hold_choice(struct graph *g, const struct wire_choice *c);
void graph_drop_choice(const struct graph_choice *c);
/* What such nodes are alike in. */
uint64_t graph_choice_fingerprint(const struct graph_choice *c);
/* Which graph is to be read by this value, after so many others; NULL: none any more. */
struct graph *graph_body(const struct graph_choice *c, uint32_t value, uint64_t turns);
uint32_t graph_lanes(const struct graph *g);

/* The next record as it stands in the graph: lanes, not streams. The cursor is nowhere behind the
 * last. */
uint32_t graph_read(struct graph_cursor *c, void *record);

#endif
