/* SPDX-License-Identifier: Apache-2.0
 *
 * Graphs: sequences of records that the client sends once, and that one record then runs. They are
 * checked when they are complete, as far as possible without the client's other tables. Records
 * read again go the way of every record (exec.h), one at a time, under the client's quota.
 *
 * A graph with conditional nodes has their bodies, which are graphs too and were complete before
 * it. So no graph is ever inside itself.
 *
 * Owner: the client; and holders, for as long as they hold it: graphs with it as a body, and
 * operations. Thread: the worker's.
 */
#ifndef DAEMON_WORKER_STREAM_GRAPH_H
#define DAEMON_WORKER_STREAM_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/wire/wire.h"

struct graph;

struct graphs;

/* A position in a graph; `graph` NULL: nowhere. */
struct graph_cursor {
    struct graph *graph;
    uint64_t at; /* byte offset */
};

struct environment;

/* The launched graph that is being read. */
struct graph_replay {
    struct graph_cursor next;
    struct graph *latest; /* the graph of the latest record */
    /* environment for its kernels' launches; NULL: they launch none */
    struct environment *environment;
    uint64_t first_token;
    struct wire_graph_lane lanes[WIRE_GRAPH_LANES];
    struct wire_graph_wait waits[WIRE_GRAPH_WAITS];
};

/* All graphs of a client. */
struct graphs {
    struct graph **table;        /* [WIRE_GRAPHS]; NULL before the first */
    uint32_t end;                /* no graph had this id or a higher one */
    struct graph_replay *replay; /* NULL before the first */
    uint64_t bytes;              /* size of all graphs */
};

void graph_finish(struct graphs *g);

/* Adds the next piece of a graph. 0, or ERR_PROTOCOL with `text`: no correct client sends this. */
int graph_data(struct graphs *g, const struct wire_graph_data *data, char *text, size_t text_bytes);
/* Starts a launch: graph_next returns its records from now on. All earlier launches must be read.
 */
int graph_launch(struct graphs *g, const struct wire_graph_launch *launch, char *text,
                 size_t text_bytes);
int graph_drop(struct graphs *g, uint32_t id, char *text, size_t text_bytes);

static inline bool graph_replaying(const struct graphs *g) {
    return g->replay && g->replay->next.graph;
}
/* Copies the next record of the launched graph, as if it came from the ring, and returns its
 * length. `record` is aligned to 8 and has RING_RECORD_MAX bytes. */
uint32_t graph_next(struct graphs *g, void *record);
/* The graph of the record that graph_next returned last. */
static inline struct graph *graph_latest(const struct graphs *g) {
    return g->replay->latest;
}

/* True when the graph has bodies, which are older graphs. */
bool graph_has_bodies(const struct graphs *g, uint32_t id);
/* The graph with this number, if it could be a body; NULL otherwise, as for WIRE_GRAPH_NONE. */
struct graph *graph_find_body(const struct graphs *g, uint32_t id);
/* Keeps the graph, even if it is dropped, until graph_release is called as often. */
void graph_hold(struct graph *graph);
void graph_release(struct graph *graph);
/* True when the latest launched graph has kernels that launch others; *handle: its handle. */
bool graph_settles(const struct graphs *g, uint64_t *handle);

/* ---- conditional nodes ----------------------------------------------------------------------- */

/* A conditional node in an operation. It holds its graph until graph_drop_choice. */
struct graph_choice {
    struct graph *graph;
    uint64_t value; /* address in the host window */
    uint32_t kind, first, count;
};

struct graph_choice graph_hold_choice(struct graph *g, const struct wire_choice *c);
void graph_drop_choice(const struct graph_choice *c);
/* A fingerprint that is the same for similar nodes. */
uint64_t graph_choice_fingerprint(const struct graph_choice *c);
/* The graph to read for this value, after `turns` others; NULL: no further one. */
struct graph *graph_body(const struct graph_choice *c, uint32_t value, uint64_t turns);
uint32_t graph_lanes(const struct graph *g);

/* Copies the next record as stored in the graph: with lanes, not streams. Behind the last record
 * the cursor is nowhere. */
uint32_t graph_read(struct graph_cursor *c, void *record);

#endif
