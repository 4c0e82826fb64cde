/* SPDX-License-Identifier: Apache-2.0
 *
 * The client's graphs, and a cursor over the one that was launched.
 */
#include "daemon/worker/stream/graph.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "proto/record.h"

struct graph {
    uint64_t total_bytes, have_bytes; /* complete when they are equal */
    uint32_t lanes, waits;            /* that a launch has to give; no lanes: not complete */
    unsigned char bytes[] __attribute__((aligned(8)));
};

struct why {
    char *text;
    size_t cap;
};

static __attribute__((cold, format(printf, 2, 3))) int refuse(struct why *why, const char *fmt,
                                                              ...) {
    va_list args;
    va_start(args, fmt);
    vsnprintf(why->text, why->cap, fmt, args);
    va_end(args);
    return ERR_PROTOCOL;
}

static struct graph *find(const struct graphs *g, uint32_t id) {
    return g->table ? g->table[id] : NULL;
}

static void free_graph(struct graphs *g, uint32_t id) {
    struct graph *graph = g->table[id];
    if (!graph) return;
    g->bytes -= graph->total_bytes;
    g->table[id] = NULL;
    free(graph);
}

void graph_finish(struct graphs *g) {
    for (uint32_t id = 0; g->table && id < WIRE_GRAPHS; id++)
        free_graph(g, id);
    free(g->table);
    free(g->replay);
    *g = (struct graphs){0};
}

/* ---- checking -------------------------------------------------------------------------------- */

/* What a check has seen of a graph so far. */
struct scan {
    uint64_t records[WIRE_GRAPH_LANES]; /* with numbers, of each lane */
    uint32_t lanes, waits;
    uint64_t hosts;
};

static uint64_t padded(uint32_t bytes) {
    return ((uint64_t)bytes + 7) & ~(uint64_t)7;
}

static int check_wait(const struct wire_stream_wait *w, struct scan *s, struct why *why) {
    if (w->slot > WIRE_GRAPH_WAITS) return refuse(why, "wait %u is out of range", w->slot);
    if (w->slot > s->waits) s->waits = w->slot;
    if (w->slot) return 0;
    if (w->on >= s->lanes || w->on_seq > s->records[w->on])
        return refuse(why, "a graph waits for record %" PRIu64 " of lane %u, which is not before",
                      w->on_seq, w->on);
    return 0;
}

static int check_record(const struct wire_record *r, struct scan *s, struct why *why) {
    bool block = r->op == WIRE_MEM_USE || r->op == WIRE_MEM_DROP;
    if (!record_ordered(r->op) && !block) return refuse(why, "%s in a graph", record_name(r->op));
    if (r->ticket) return refuse(why, "%s in a graph wants a reply", record_name(r->op));
    if (block) return 0;
    if (r->stream >= WIRE_GRAPH_LANES) return refuse(why, "lane %u is out of range", r->stream);
    if (r->seq != s->records[r->stream] + 1)
        return refuse(why, "lane %u is at %" PRIu64 ", the record says %" PRIu64, r->stream,
                      s->records[r->stream] + 1, r->seq);
    if (r->stream >= s->lanes) s->lanes = r->stream + 1;
    int err = 0;
    if (r->op == WIRE_STREAM_WAIT) err = check_wait((const void *)r, s, why);
    if (r->op == WIRE_HOST_FUNC && ((const struct wire_host_func *)r)->token != s->hosts++)
        err = refuse(why, "a host function out of order");
    s->records[r->stream]++;
    return err;
}

static int check_item(const struct graph *graph, uint64_t *at, struct scan *s, struct why *why) {
    const struct wire_graph_item *item = (const void *)(graph->bytes + *at);
    uint64_t left = graph->total_bytes - *at - sizeof(*item); /* all are multiples of 8 */
    if (padded(item->bytes) > left || item->bytes > RING_RECORD_MAX)
        return refuse(why, "a record of %u bytes in a graph, %" PRIu64 " are left", item->bytes,
                      left);
    const void *rec = item + 1;
    int err = record_check(rec, item->bytes, why->text, why->cap);
    if (!err) err = check_record(rec, s, why);
    *at += sizeof(*item) + padded(item->bytes);
    return err;
}

static int check_whole(struct graph *graph, struct why *why) {
    struct scan s = {.lanes = 1};
    for (uint64_t at = 0; at < graph->total_bytes;) {
        int err = check_item(graph, &at, &s, why);
        if (err) return err;
    }
    graph->lanes = s.lanes;
    graph->waits = s.waits;
    return 0;
}

/* ---- made, launched, dropped ----------------------------------------------------------------- */

static int begin(struct graphs *g, const struct wire_graph_data *d, struct why *why) {
    if (find(g, d->graph)) return refuse(why, "graph %u is in use", d->graph);
    if (d->total_bytes > WIRE_GRAPH_BYTES - g->bytes)
        return refuse(why, "more than %llu bytes of graphs", WIRE_GRAPH_BYTES);
    if (!g->table) g->table = calloc(WIRE_GRAPHS, sizeof(struct graph *));
    if (!g->replay) g->replay = calloc(1, sizeof(*g->replay));
    struct graph *graph = malloc(sizeof(*graph) + d->total_bytes);
    if (!g->table || !g->replay || !graph) {
        free(graph);
        return refuse(why, "out of memory for a graph");
    }
    graph->total_bytes = d->total_bytes;
    graph->have_bytes = graph->lanes = graph->waits = 0;
    g->table[d->graph] = graph;
    g->bytes += d->total_bytes;
    return 0;
}

int graph_data(struct graphs *g, const struct wire_graph_data *d, char *text, size_t text_bytes) {
    struct why why = {text, text_bytes};
    int err = d->offset == 0 ? begin(g, d, &why) : 0;
    if (err) return err;
    struct graph *graph = find(g, d->graph);
    if (!graph || d->total_bytes != graph->total_bytes || d->offset != graph->have_bytes)
        return refuse(&why, "bytes of graph %u out of order", d->graph);
    memcpy(graph->bytes + d->offset, d + 1, d->piece_bytes);
    graph->have_bytes += d->piece_bytes;
    return graph->have_bytes == graph->total_bytes ? check_whole(graph, &why) : 0;
}

int graph_launch(struct graphs *g, const struct wire_graph_launch *l, char *text,
                 size_t text_bytes) {
    struct why why = {text, text_bytes};
    const struct graph *graph = find(g, l->graph);
    if (!graph) return refuse(&why, "graph %u does not exist", l->graph);
    if (l->lanes != graph->lanes || l->waits != graph->waits)
        return refuse(&why, "graph %u takes %u lanes and %u waits, the launch gives %u and %u",
                      l->graph, graph->lanes, graph->waits, l->lanes, l->waits);
    struct graph_replay *r = g->replay;
    const struct wire_graph_lane *lanes = (const void *)(l + 1);
    memcpy(r->lanes, lanes, l->lanes * sizeof(*lanes));
    memcpy(r->waits, lanes + l->lanes, l->waits * sizeof(*r->waits));
    r->graph = graph;
    r->at = 0;
    r->first_token = l->first_token;
    return 0;
}

int graph_drop(struct graphs *g, uint32_t id, char *text, size_t text_bytes) {
    struct why why = {text, text_bytes};
    if (!find(g, id)) return refuse(&why, "graph %u does not exist", id);
    free_graph(g, id);
    return 0;
}

/* ---- reading --------------------------------------------------------------------------------- */

static void place_wait(const struct graph_replay *r, struct wire_stream_wait *w) {
    if (w->slot) {
        const struct wire_graph_wait *given = &r->waits[w->slot - 1];
        w->on = given->on;
        w->on_seq = given->on_seq;
    } else {
        const struct wire_graph_lane *lane = &r->lanes[w->on];
        w->on = lane->stream;
        w->on_seq += lane->first_seq - 1;
    }
    w->slot = 0;
}

/* What is relative in the graph, in the words of this launch. */
static void place(const struct graph_replay *r, struct wire_record *rec) {
    if (!record_ordered(rec->op)) return;
    if (rec->op == WIRE_STREAM_WAIT) place_wait(r, (struct wire_stream_wait *)rec);
    if (rec->op == WIRE_HOST_FUNC) ((struct wire_host_func *)rec)->token += r->first_token;
    const struct wire_graph_lane *lane = &r->lanes[rec->stream];
    rec->stream = lane->stream;
    rec->seq += lane->first_seq - 1;
}

uint32_t graph_next(struct graphs *g, void *record) {
    struct graph_replay *r = g->replay;
    const struct graph *graph = r->graph;
    const struct wire_graph_item *item = (const void *)(graph->bytes + r->at);
    uint32_t bytes = item->bytes;
    memcpy(record, item + 1, bytes);
    place(r, record);
    r->at += sizeof(*item) + padded(bytes);
    if (r->at == graph->total_bytes) r->graph = NULL;
    return bytes;
}
