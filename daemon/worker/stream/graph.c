/* SPDX-License-Identifier: Apache-2.0
 *
 * The client's graphs, and cursors over those that are read.
 */
#include "daemon/worker/stream/graph.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "proto/wire/record.h"

struct graph {
    struct graphs *all;               /* counts its bytes while anybody holds it */
    uint64_t total_bytes, have_bytes; /* complete when they are equal */
    uint32_t lanes, waits;            /* a launch gives this many; no lanes: not complete */
    uint32_t holders;
    uint32_t depth;        /* nesting depth of bodies; 0: no conditional nodes */
    bool bound;            /* it can be launched, but cannot be a body */
    bool settles;          /* has a GRAPH_SETTLE record: its kernels may launch graphs */
    uint64_t handle;       /* for its kernels, to launch it again */
    struct graph **bodies; /* held, for all its conditional nodes; NULL entries: no records */
    uint32_t body_count;
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

void graph_hold(struct graph *graph) {
    graph->holders++;
}

struct graph *graph_find_body(const struct graphs *g, uint32_t id) {
    struct graph *body = id == WIRE_GRAPH_NONE ? NULL : find(g, id);
    return body && body->lanes && !body->bound ? body : NULL;
}

bool graph_settles(const struct graphs *g, uint64_t *handle) {
    const struct graph *graph = g->replay->next.graph;
    *handle = graph->handle;
    return graph->settles;
}

/* Recurses at most WIRE_GRAPH_DEPTH deep. */
void graph_release(struct graph *graph) {
    if (!graph || --graph->holders) return;
    for (uint32_t i = 0; i < graph->body_count; i++)
        graph_release(graph->bodies[i]);
    graph->all->bytes -= graph->total_bytes;
    free(graph->bodies);
    free(graph);
}

static void drop(struct graphs *g, uint32_t id) {
    graph_release(g->table[id]);
    g->table[id] = NULL;
}

void graph_finish(struct graphs *g) {
    for (uint32_t id = 0; g->table && id < g->end; id++)
        drop(g, id);
    free(g->table);
    free(g->replay);
    *g = (struct graphs){0};
}

/* ---- checking -------------------------------------------------------------------------------- */

/* State of a check of a graph. */
struct scan {
    uint64_t records[WIRE_GRAPH_LANES]; /* numbered records of each lane */
    uint32_t lanes, waits;
    uint64_t hosts;
    bool bound; /* has something that a body may not have */
};

static uint64_t padded(uint32_t bytes) {
    return ((uint64_t)bytes + 7) & ~(uint64_t)7;
}

static int check_wait(const struct wire_stream_wait *w, struct scan *s, struct why *why) {
    if (w->slot > WIRE_GRAPH_WAITS) return refuse(why, "wait %u is out of range", w->slot);
    if (w->slot > s->waits) s->waits = w->slot;
    if (w->slot) s->bound = true;
    if (w->slot) return 0;
    if (w->on >= s->lanes || w->on_seq > s->records[w->on])
        return refuse(
            why, "a graph waits for record %" PRIu64 " of lane %u, which does not precede the wait",
            w->on_seq, w->on);
    return 0;
}

/* The body with this number, which must exist already; WIRE_GRAPH_NONE gives NULL. */
static int check_body(struct graph *graph, uint32_t id, struct graph **out, struct why *why) {
    struct graph *body = graph_find_body(graph->all, id);
    *out = body;
    if (id == WIRE_GRAPH_NONE) return 0;
    if (!body) return refuse(why, "graph %u cannot be the body of a conditional node", id);
    if (body->depth + 1 >= WIRE_GRAPH_DEPTH)
        return refuse(why, "graphs are nested deeper than %u levels", WIRE_GRAPH_DEPTH);
    if (body->depth >= graph->depth) graph->depth = body->depth + 1;
    return 0;
}

/* Adds the node's bodies to the graph's list, and writes their index into the record. */
static int check_choice(struct graph *graph, struct wire_choice *c, struct why *why) {
    const uint32_t *ids = (const void *)(c + 1);
    size_t count = graph->body_count + (size_t)c->count;
    struct graph **more = realloc(graph->bodies, count * sizeof(struct graph *));
    if (!more) return refuse(why, "out of memory for a graph");
    graph->bodies = more;
    c->first = graph->body_count;
    for (uint32_t i = 0; i < c->count; i++) {
        struct graph **body = &more[graph->body_count];
        int err = check_body(graph, ids[i], body, why);
        if (err) return err;
        if (*body) graph_hold(*body);
        graph->body_count++;
    }
    return 0;
}

static int check_settle(struct graph *graph, const struct wire_graph_settle *r, struct why *why) {
    if (r->rec.stream)
        return refuse(why, "lane %u ends the graph; only the first lane may", r->rec.stream);
    graph->settles = true;
    graph->handle = r->handle;
    return 0;
}

static bool is_bound(uint16_t op) {
    return op == WIRE_EVENT_RECORD || op == WIRE_GRAPH_SETTLE || op == WIRE_HOST_FUNC ||
           op == WIRE_VALUE_WAIT || op == WIRE_VALUE_WRITE || !record_ordered(op);
}

static int check_record(struct graph *graph, struct wire_record *r, struct scan *s,
                        struct why *why) {
    bool block = r->op == WIRE_MEM_USE || r->op == WIRE_MEM_DROP;
    if (!record_ordered(r->op) && !block)
        return refuse(why, "record %s is not allowed in a graph", record_name(r->op));
    if (r->ticket)
        return refuse(why, "record %s of a graph must not ask for a reply", record_name(r->op));
    s->bound |= is_bound(r->op);
    if (block) return 0;
    if (r->stream >= WIRE_GRAPH_LANES) return refuse(why, "lane %u is out of range", r->stream);
    if (r->seq != s->records[r->stream] + 1)
        return refuse(why, "lane %u expects record %" PRIu64 ", the record has %" PRIu64, r->stream,
                      s->records[r->stream] + 1, r->seq);
    if (graph->settles && r->stream == 0)
        return refuse(why, "record %s follows the end of the graph", record_name(r->op));
    if (r->stream >= s->lanes) s->lanes = r->stream + 1;
    int err = 0;
    if (r->op == WIRE_STREAM_WAIT) err = check_wait((const void *)r, s, why);
    if (r->op == WIRE_HOST_FUNC && ((const struct wire_host_func *)r)->token != s->hosts++)
        err = refuse(why, "a host function's token is out of order");
    if (r->op == WIRE_GRAPH_CHOICE) err = check_choice(graph, (void *)r, why);
    if (r->op == WIRE_GRAPH_SETTLE) err = check_settle(graph, (const void *)r, why);
    s->records[r->stream]++;
    return err;
}

static int check_item(struct graph *graph, uint64_t *at, struct scan *s, struct why *why) {
    struct wire_graph_item *item = (void *)(graph->bytes + *at);
    uint64_t left = graph->total_bytes - *at - sizeof(*item); /* all sizes are multiples of 8 */
    if (padded(item->bytes) > left || item->bytes > RING_RECORD_MAX)
        return refuse(why, "a record of a graph has %u bytes, only %" PRIu64 " are left",
                      item->bytes, left);
    void *rec = item + 1;
    int err = record_check(rec, item->bytes, why->text, why->cap);
    if (!err) err = check_record(graph, rec, s, why);
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
    graph->bound = s.bound;
    return 0;
}

/* ---- making, launching and dropping graphs --------------------------------------------------- */

static int begin(struct graphs *g, const struct wire_graph_data *d, struct why *why) {
    if (find(g, d->graph)) return refuse(why, "graph %u is in use", d->graph);
    if (d->total_bytes > WIRE_GRAPH_BYTES - g->bytes)
        return refuse(why, "the job's graphs exceed %llu bytes; destroy some", WIRE_GRAPH_BYTES);
    if (!g->table) g->table = calloc(WIRE_GRAPHS, sizeof(struct graph *));
    if (!g->replay) g->replay = calloc(1, sizeof(*g->replay));
    struct graph *graph = malloc(sizeof(*graph) + d->total_bytes);
    if (!g->table || !g->replay || !graph) {
        free(graph);
        return refuse(why, "out of memory for a graph");
    }
    *graph = (struct graph){.all = g, .total_bytes = d->total_bytes, .holders = 1};
    g->table[d->graph] = graph;
    if (d->graph >= g->end) g->end = d->graph + 1;
    g->bytes += d->total_bytes;
    return 0;
}

int graph_data(struct graphs *g, const struct wire_graph_data *d, char *text, size_t text_bytes) {
    struct why why = {text, text_bytes};
    int err = d->offset == 0 ? begin(g, d, &why) : 0;
    if (err) return err;
    struct graph *graph = find(g, d->graph);
    if (!graph || d->total_bytes != graph->total_bytes || d->offset != graph->have_bytes)
        return refuse(&why, "the bytes of graph %u arrive out of order", d->graph);
    memcpy(graph->bytes + d->offset, d + 1, d->piece_bytes);
    graph->have_bytes += d->piece_bytes;
    return graph->have_bytes == graph->total_bytes ? check_whole(graph, &why) : 0;
}

bool graph_has_bodies(const struct graphs *g, uint32_t id) {
    const struct graph *graph = find(g, id);
    return graph && graph->depth;
}

int graph_launch(struct graphs *g, const struct wire_graph_launch *l, char *text,
                 size_t text_bytes) {
    struct why why = {text, text_bytes};
    struct graph *graph = find(g, l->graph);
    if (!graph) return refuse(&why, "graph %u does not exist", l->graph);
    if (l->lanes != graph->lanes || l->waits != graph->waits)
        return refuse(&why, "graph %u takes %u lanes and %u waits, the launch gives %u and %u",
                      l->graph, graph->lanes, graph->waits, l->lanes, l->waits);
    struct graph_replay *r = g->replay;
    const struct wire_graph_lane *lanes = (const void *)(l + 1);
    memcpy(r->lanes, lanes, l->lanes * sizeof(*lanes));
    memcpy(r->waits, lanes + l->lanes, l->waits * sizeof(*r->waits));
    r->next = (struct graph_cursor){graph, 0};
    r->environment = NULL;
    r->first_token = l->first_token;
    return 0;
}

int graph_drop(struct graphs *g, uint32_t id, char *text, size_t text_bytes) {
    struct why why = {text, text_bytes};
    if (!find(g, id)) return refuse(&why, "graph %u does not exist", id);
    drop(g, id);
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

/* Converts a record's lanes and relative numbers to those of this launch. */
static void place(const struct graph_replay *r, struct wire_record *rec) {
    if (!record_ordered(rec->op)) return;
    if (rec->op == WIRE_STREAM_WAIT) place_wait(r, (struct wire_stream_wait *)rec);
    if (rec->op == WIRE_HOST_FUNC) ((struct wire_host_func *)rec)->token += r->first_token;
    const struct wire_graph_lane *lane = &r->lanes[rec->stream];
    rec->stream = lane->stream;
    rec->seq += lane->first_seq - 1;
}

uint32_t graph_read(struct graph_cursor *c, void *record) {
    const struct wire_graph_item *item = (const void *)(c->graph->bytes + c->at);
    uint32_t bytes = item->bytes;
    memcpy(record, item + 1, bytes);
    c->at += sizeof(*item) + padded(bytes);
    if (c->at == c->graph->total_bytes) c->graph = NULL;
    return bytes;
}

uint32_t graph_next(struct graphs *g, void *record) {
    struct graph_replay *r = g->replay;
    r->latest = r->next.graph;
    uint32_t bytes = graph_read(&r->next, record);
    place(r, record);
    return bytes;
}

/* ---- conditional nodes ----------------------------------------------------------------------- */

struct graph_choice graph_hold_choice(struct graph *g, const struct wire_choice *c) {
    graph_hold(g);
    return (struct graph_choice){g, c->value, c->kind, c->first, c->count};
}

void graph_drop_choice(const struct graph_choice *c) {
    graph_release(c->graph);
}

uint64_t graph_choice_fingerprint(const struct graph_choice *c) {
    uint64_t bytes = c->graph->total_bytes;
    return (bytes << 32 | c->first << 8 | c->kind) * 0x9e3779b97f4a7c15ull | 1;
}

struct graph *graph_body(const struct graph_choice *c, uint32_t value, uint64_t turns) {
    uint32_t which = c->kind == WIRE_CHOICE_SWITCH ? value : value ? 0 : 1;
    if (turns && c->kind != WIRE_CHOICE_WHILE) return NULL;
    return which < c->count ? c->graph->bodies[c->first + which] : NULL;
}

uint32_t graph_lanes(const struct graph *g) {
    return g->lanes;
}
