/* SPDX-License-Identifier: Apache-2.0
 *
 * Graphs: sequences of records that the client says once and has read again by one record. They are
 * checked when they are complete, as far as that can be without the client's other tables; what is
 * read again goes the way of every record (exec.h), one at a time, under the client's quota.
 *
 * Owner: the client. Thread: the worker's.
 */
#ifndef DAEMON_WORKER_STREAM_GRAPH_H
#define DAEMON_WORKER_STREAM_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/wire.h"

struct graph;

/* What is being read of a launched graph; `graph` NULL: nothing. */
struct graph_replay {
    const struct graph *graph;
    uint64_t at; /* byte of the graph */
    uint64_t first_token;
    struct wire_graph_lane lanes[WIRE_GRAPH_LANES];
    struct wire_graph_wait waits[WIRE_GRAPH_WAITS];
};

/* All of a client. */
struct graphs {
    struct graph **table;        /* [WIRE_GRAPHS]; NULL before the first */
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
    return g->replay && g->replay->graph;
}
/* The next record of the launched graph, as if it came from the ring: its length. `record` is
 * aligned to 8 and has RING_RECORD_MAX bytes. */
uint32_t graph_next(struct graphs *g, void *record);

#endif
