/* SPDX-License-Identifier: Apache-2.0
 *
 * The records of a launched graph are read before further records of the ring (graph.h).
 */
#include "daemon/worker/front/graph_record.h"

#include "common/err.h"
#include "common/text/failure.h"
#include "daemon/worker/client.h"
#include "daemon/worker/replay/log_append.h"

int graph_record_data(struct client *c, const void *rec, char *why, size_t why_bytes) {
    const struct wire_graph_data *d = rec;
    int err = graph_data(&c->graphs, d, why, why_bytes);
    if (!err && graph_has_bodies(&c->graphs, d->graph)) log_append_bodies(c);
    return err;
}

/* Opens the graph's environment: the graphs that its kernels launch take its place in the stream.
 */
static int open_environment(struct client *c, uint32_t lane, uint64_t handle, char *why,
                            size_t why_bytes) {
    struct stream *s = stream_find(&c->streams, lane);
    if (!s) return failure(ERR_PROTOCOL, why, why_bytes, "stream %u does not exist", lane);
    struct environment *e = device_launch_open(&c->launching, s, handle, c->streams.pushed);
    if (!e) return failure(ERR_PROTOCOL, why, why_bytes, "out of memory for a graph's launch");
    device_launch_note(e, c->boundary.iteration_gate.reading);
    c->graphs.replay->environment = e;
    return 0;
}

int graph_record_launch(struct client *c, const void *rec, char *why, size_t why_bytes) {
    const struct graphs *g = &c->graphs;
    uint64_t handle;
    int err = graph_launch(&c->graphs, rec, why, why_bytes);
    if (err || client_dead(c) || !graph_settles(g, &handle)) return err;
    return open_environment(c, g->replay->lanes[0].stream, handle, why, why_bytes);
}

int graph_record_offer(struct client *c, const void *rec, char *why, size_t why_bytes) {
    const struct wire_graph_offer *o = rec;
    struct graph *graph = graph_find_body(&c->graphs, o->graph);
    if (o->graph != WIRE_GRAPH_NONE && !graph)
        return failure(ERR_PROTOCOL, why, why_bytes, "graph %u cannot be launched by kernels",
                       o->graph);
    int err = device_launch_offer(&c->launching, o->handle, graph);
    return err ? failure(ERR_PROTOCOL, why, why_bytes, "graph %u cannot be offered to kernels: %s",
                         o->graph, err_text(err))
               : 0;
}

int graph_record_drop(struct client *c, const void *rec, char *why, size_t why_bytes) {
    const struct wire_graph_drop *d = rec;
    return graph_drop(&c->graphs, d->graph, why, why_bytes);
}
