/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as a graph: what is accepted is read to its end, within its memory, and each record of
 * it is one that record_check accepts, in the lane's stream and with the number that comes next.
 */
#include <stdlib.h>
#include <string.h>

#include "daemon/worker/stream/graph.h"
#include "proto/record.h"

/* NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MOST 16384u /* bytes of a graph: within a piece */

static int say_piece(struct graphs *g, const uint8_t *data, uint32_t from, uint32_t to,
                     uint32_t total, char *why, size_t why_bytes) {
    _Alignas(8) static unsigned char room[sizeof(struct wire_graph_data) + MOST];
    struct wire_graph_data *d = (void *)room;
    *d = (struct wire_graph_data){
        .rec.op = WIRE_GRAPH_DATA, .offset = from, .piece_bytes = to - from, .total_bytes = total};
    memcpy(d + 1, data + from, to - from);
    return graph_data(g, d, why, why_bytes);
}

/* In two pieces, where there is enough for two. */
static int say(struct graphs *g, const uint8_t *data, uint32_t bytes, char *why, size_t why_bytes) {
    uint32_t first = bytes / 16 * 8;
    int err = first ? say_piece(g, data, 0, first, bytes, why, why_bytes) : 0;
    return err ? err : say_piece(g, data, first, bytes, bytes, why, why_bytes);
}

static int launch(struct graphs *g, uint16_t lanes, uint16_t waits) {
    _Alignas(8) static unsigned char room[RING_RECORD_MAX];
    char why[96];
    struct wire_graph_launch *l = (void *)room;
    *l = (struct wire_graph_launch){.lanes = lanes, .waits = waits, .first_token = 1000};
    struct wire_graph_lane *lane = (void *)(l + 1);
    for (uint32_t i = 0; i < lanes; i++)
        lane[i] = (struct wire_graph_lane){.stream = 10 + i, .first_seq = 100 * (i + 1)};
    struct wire_graph_wait *wait = (void *)(lane + lanes);
    for (uint32_t i = 0; i < waits; i++)
        wait[i] = (struct wire_graph_wait){.on = 99, .on_seq = i};
    return graph_launch(g, l, why, sizeof(why));
}

/* What a launch of an accepted graph has to give. */
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

static void read_all(struct graphs *g) {
    _Alignas(8) static unsigned char rec[RING_RECORD_MAX];
    uint64_t next[WIRE_GRAPH_LANES], token = 1000;
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
        const struct wire_stream_wait *w = (const void *)rec;
        if (r->op != WIRE_STREAM_WAIT || w->on == 99) continue;
        if (w->on - 10 >= WIRE_GRAPH_LANES || w->on_seq >= next[w->on - 10]) abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static struct graphs g; /* its tables stay: they are large */
    char why[96] = "", none[96];
    uint32_t bytes = (uint32_t)(size < MOST ? size : MOST) & ~7u;
    if (bytes == 0) return 0;
    if (say(&g, data, bytes, why, sizeof(why)) == 0) {
        uint16_t lanes, waits;
        count(data, bytes, &lanes, &waits);
        if (launch(&g, lanes, waits)) abort();
        read_all(&g);
    } else if (!why[0] || strlen(why) >= sizeof(why)) {
        abort();
    }
    graph_drop(&g, 0, none, sizeof(none)); /* one that was refused is gone already */
    return 0;
}
