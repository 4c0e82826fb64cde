/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as a graph. An accepted graph is read to its end, within its memory, and record_check
 * accepts each of its records, in the lane's stream and with the next number. The same holds for
 * the bodies of its conditional nodes, which may be any earlier graphs and finally this graph.
 * After the graphs are dropped, nothing is left.
 */
#include <stdlib.h>
#include <string.h>

#include "daemon/worker/stream/graph.h"
#include "proto/wire/record.h"

/* NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MOST 16384u /* bytes of a graph: fits into one piece */

enum { BODY, NESTED, GIVEN, AROUND, IDS };

static int say_piece(struct graphs *g, uint32_t id, const void *data, uint32_t from, uint32_t to,
                     uint32_t total, char *why, size_t why_bytes) {
    _Alignas(8) static unsigned char room[sizeof(struct wire_graph_data) + MOST];
    struct wire_graph_data *d = (void *)room;
    *d = (struct wire_graph_data){.rec.op = WIRE_GRAPH_DATA,
                                  .graph = id,
                                  .offset = from,
                                  .piece_bytes = to - from,
                                  .total_bytes = total};
    memcpy(d + 1, (const uint8_t *)data + from, to - from);
    return graph_data(g, d, why, why_bytes);
}

/* Sends the graph in two pieces, where it is long enough. */
static int say(struct graphs *g, uint32_t id, const void *data, uint32_t bytes, char *why,
               size_t why_bytes) {
    uint32_t first = bytes / 16 * 8;
    int err = first ? say_piece(g, id, data, 0, first, bytes, why, why_bytes) : 0;
    return err ? err : say_piece(g, id, data, first, bytes, bytes, why, why_bytes);
}

/* A body of two lanes, one of which waits for the other. */
static void say_body(struct graphs *g) {
    struct {
        struct wire_graph_item fill_item;
        struct wire_memset fill;
        struct wire_graph_item wait_item;
        struct wire_stream_wait wait;
    } body = {
        {sizeof(struct wire_memset), 0},
        {.rec = {.op = WIRE_MEMSET, .seq = 1}, .width_elems = 1, .height = 1, .elem_bytes = 4},
        {sizeof(struct wire_stream_wait), 0},
        {.rec = {.op = WIRE_STREAM_WAIT, .stream = 1, .seq = 1}, .on_seq = 1}};
    char why[96];
    if (say(g, BODY, &body, sizeof(body), why, sizeof(why))) abort();
}

/* A conditional node with these two bodies. */
static int say_choice(struct graphs *g, uint32_t id, uint32_t first, uint32_t second) {
    struct {
        struct wire_graph_item item;
        struct wire_choice choice;
        uint32_t bodies[2];
    } in = {{sizeof(struct wire_choice) + 2 * sizeof(uint32_t), 0},
            {.rec = {.op = WIRE_GRAPH_CHOICE, .seq = 1}, .kind = WIRE_CHOICE_IF, .count = 2},
            {first, second}};
    char why[96];
    return say(g, id, &in, sizeof(in), why, sizeof(why));
}

static int launch(struct graphs *g, uint16_t lanes, uint16_t waits) {
    _Alignas(8) static unsigned char room[RING_RECORD_MAX];
    char why[96];
    struct wire_graph_launch *l = (void *)room;
    *l = (struct wire_graph_launch){
        .graph = GIVEN, .lanes = lanes, .waits = waits, .first_token = 1000};
    struct wire_graph_lane *lane = (void *)(l + 1);
    for (uint32_t i = 0; i < lanes; i++)
        lane[i] = (struct wire_graph_lane){.stream = 10 + i, .first_seq = 100 * (i + 1)};
    struct wire_graph_wait *wait = (void *)(lane + lanes);
    for (uint32_t i = 0; i < waits; i++)
        wait[i] = (struct wire_graph_wait){.on = 99, .on_seq = i};
    return graph_launch(g, l, why, sizeof(why));
}

/* Counts the lanes and waits that a launch of an accepted graph must have. */
static void count(const uint8_t *data, uint32_t bytes, uint16_t *lanes, uint16_t *waits) {
    *lanes = 1;
    *waits = 0;
    for (uint32_t at = 0; at < bytes;) {
        struct wire_graph_item item;
        struct wire_stream_wait w = {0};
        memcpy(&item, data + at, sizeof(item));
        memcpy(&w, data + at + sizeof(item), item.bytes < sizeof(w) ? item.bytes : sizeof(w));
        if (record_ordered(w.rec.op) && w.rec.stream >= *lanes)
            *lanes = (uint16_t)(w.rec.stream + 1);
        if (w.rec.op == WIRE_STREAM_WAIT && w.slot > *waits) *waits = (uint16_t)w.slot;
        at += (uint32_t)sizeof(item) + ((item.bytes + 7) & ~7u);
    }
}

static void read_bodies(struct graph *in, const struct wire_choice *c, uint32_t *budget);

/* Reads the body from its own start: lanes, and numbers from 1. */
static void read_body(struct graph *body, uint32_t *budget) {
    _Alignas(8) unsigned char rec[RING_RECORD_MAX];
    struct graph_cursor at = {body, 0};
    uint64_t last[WIRE_GRAPH_LANES] = {0};
    char why[96];
    while (at.graph) {
        uint32_t bytes = graph_read(&at, rec);
        const struct wire_record *r = (const void *)rec;
        if (record_check(rec, bytes, why, sizeof(why)) || !record_ordered(r->op)) abort();
        if (r->op == WIRE_HOST_FUNC || r->op == WIRE_EVENT_RECORD) abort();
        if (r->stream >= graph_lanes(body) || r->seq != ++last[r->stream]) abort();
        const struct wire_stream_wait *w = (const void *)rec;
        if (r->op == WIRE_STREAM_WAIT &&
            (w->slot || w->on >= graph_lanes(body) || w->on_seq > last[w->on]))
            abort();
        if (r->op == WIRE_GRAPH_CHOICE) read_bodies(body, (const void *)rec, budget);
    }
}

/* Bodies can repeat the same graphs many times, so not all of them are read. */
static void read_bodies(struct graph *in, const struct wire_choice *c, uint32_t *budget) {
    struct graph_choice choice = graph_hold_choice(in, c);
    for (uint32_t value = 0; value <= c->count && *budget; value++, --*budget) {
        struct graph *body = graph_body(&choice, value, 0);
        if (body) read_body(body, budget);
        if (c->kind != WIRE_CHOICE_WHILE && graph_body(&choice, value, 1)) abort();
    }
    graph_drop_choice(&choice);
}

static void read_all(struct graphs *g) {
    _Alignas(8) static unsigned char rec[RING_RECORD_MAX];
    uint64_t next[WIRE_GRAPH_LANES], token = 1000;
    uint32_t budget = 64;
    char why[96];
    for (uint32_t i = 0; i < WIRE_GRAPH_LANES; i++)
        next[i] = 100 * (i + 1);
    while (graph_replaying(g)) {
        uint32_t bytes = graph_next(g, rec);
        const struct wire_record *r = (const void *)rec;
        if (record_check(rec, bytes, why, sizeof(why))) abort();
        if (!record_ordered(r->op)) continue;
        if (r->stream - 10 >= WIRE_GRAPH_LANES || r->seq != next[r->stream - 10]++) abort();
        if (r->op == WIRE_HOST_FUNC && ((struct wire_host_func *)rec)->token != token++) abort();
        if (r->op == WIRE_GRAPH_CHOICE) read_bodies(graph_latest(g), (const void *)rec, &budget);
        const struct wire_stream_wait *w = (const void *)rec;
        if (r->op != WIRE_STREAM_WAIT || w->on == 99) continue;
        if (w->on - 10 >= WIRE_GRAPH_LANES || w->on_seq >= next[w->on - 10]) abort();
    }
}

/* An operation holds a graph: the graph outlives the drop of all, and is freed with the
 * operation. */
static void drop_all(struct graphs *g) {
    char why[96];
    const struct wire_choice c = {.kind = WIRE_CHOICE_IF, .count = 1};
    struct graph_cursor at = {graph_latest(g), 0};
    struct graph_choice held = graph_hold_choice(at.graph, &c);
    _Alignas(8) static unsigned char rec[RING_RECORD_MAX];
    for (uint32_t id = 0; id < IDS; id++)
        graph_drop(g, id, why, sizeof(why));
    if (!g->bytes) abort();
    while (at.graph)
        graph_read(&at, rec);
    graph_drop_choice(&held);
    if (g->bytes) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static struct graphs g; /* kept between runs, because its tables are large */
    char why[96] = "", none[96];
    uint32_t bytes = (uint32_t)(size < MOST ? size : MOST) & ~7u;
    if (bytes == 0) return 0;
    say_body(&g);
    if (say_choice(&g, NESTED, BODY, WIRE_GRAPH_NONE)) abort();
    if (say(&g, GIVEN, data, bytes, why, sizeof(why)) == 0) {
        uint16_t lanes, waits;
        count(data, bytes, &lanes, &waits);
        if (launch(&g, lanes, waits)) abort();
        read_all(&g);
        say_choice(&g, AROUND, GIVEN, NESTED); /* rejected if the graph may not be a body */
        drop_all(&g);
    } else if (!why[0] || strlen(why) >= sizeof(why)) {
        abort();
    }
    for (uint32_t id = 0; id < IDS; id++)
        graph_drop(&g, id, none, sizeof(none)); /* some have been dropped already */
    if (g.bytes) abort();
    return 0;
}
