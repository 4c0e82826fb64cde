/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs graphs in inner streams.
 */
#include "daemon/worker/stream/body.h"

#include <errno.h>

void body_init(struct body *b, struct stream *parent) {
    *b = (struct body){.parent = parent};
    list_init(&b->due);
}

void body_due(struct body *b) {
    if (list_empty(&b->due)) list_append(&b->parent->set->due, &b->due);
}

struct body *body_take(struct stream_set *set) {
    if (list_empty(&set->due)) return NULL;
    struct body *b = list_entry(set->due.next, struct body, due);
    list_remove(&b->due);
    return b;
}

static int open_lane(struct body *b, uint32_t i) {
    if (!b->lanes[i]) b->lanes[i] = stream_open_inner(b->parent);
    struct stream *lane = b->lanes[i];
    if (!lane) return -ENOMEM;
    lane->parent = b->parent; /* a kernel's launch may be in another place next time */
    lane->body = b;
    lane->place = &b->place;
    if (lane->share != b->parent->share) stream_share(lane, b->parent->share);
    b->before[i] = lane->next - 1;
    return 0;
}

int body_enter(struct body *b, struct graph *graph, uint64_t number, uint32_t iteration) {
    for (uint32_t i = 0; i < graph_lanes(graph); i++) {
        int err = open_lane(b, i);
        if (err) return err;
    }
    b->next = (struct graph_cursor){graph, 0};
    b->place = (struct stream_place){number, iteration};
    b->worked = false;
    return 0;
}

static bool is_work(const struct op *op) {
    return op->kind == WIRE_LAUNCH || op->kind == WIRE_COPY || op->kind == WIRE_MEMSET;
}

int body_push(struct stream *lane, struct op *op) {
    int err = stream_push(lane, op);
    if (err) return err;
    lane->body->open++;
    for (struct body *b = lane->body; b && is_work(op); b = b->parent->body)
        b->worked = true;
    return 0;
}

/* Wakes the reader only when half of the read-ahead is complete, not at each completion. */
void body_retired(struct stream *lane, uint64_t count) {
    struct body *b = lane->body;
    b->open -= count;
    if (completion_dead(lane->set->com)) return;
    if (body_over(b) || (b->next.graph && b->open <= BODY_AHEAD / 2)) body_due(b);
}
