/* SPDX-License-Identifier: Apache-2.0
 *
 * Bodies in inner streams.
 */
#include "daemon/worker/stream/choice.h"

#include <errno.h>
#include <stdlib.h>

static void make_due(struct stream *s) {
    if (list_empty(&s->due)) list_append(&s->set->due, &s->due);
}

int choice_begin(struct stream *s) {
    if (!s->choice) s->choice = calloc(1, sizeof(*s->choice));
    if (!s->choice) return -ENOMEM;
    s->choice->turns = 0;
    stream_at(s, s->cursor)->state = OP_POSTED;
    make_due(s);
    return 0;
}

struct stream *choice_take(struct stream_set *set) {
    if (list_empty(&set->due)) return NULL;
    struct stream *s = list_entry(set->due.next, struct stream, due);
    list_remove(&s->due);
    return s;
}

int choice_enter(struct stream *s, struct graph *body) {
    struct choice *c = s->choice;
    for (uint32_t i = 0; i < graph_lanes(body); i++) {
        if (!c->lanes[i]) c->lanes[i] = stream_open_inner(s);
        if (!c->lanes[i]) return -ENOMEM;
        if (c->lanes[i]->share != s->share) stream_share(c->lanes[i], s->share);
        c->before[i] = c->lanes[i]->next - 1;
    }
    c->next = (struct graph_cursor){body, 0};
    c->turns++;
    c->worked = false;
    return 0;
}

static bool is_work(const struct op *op) {
    return op->kind == WIRE_LAUNCH || op->kind == WIRE_COPY || op->kind == WIRE_MEMSET;
}

int choice_push(struct stream *lane, struct op *op) {
    int err = stream_push(lane, op);
    if (err) return err;
    lane->parent->choice->open++;
    for (struct stream *s = lane->parent; s && is_work(op); s = s->parent)
        s->choice->worked = true;
    return 0;
}

/* Not each completion is worth a look: half of what may be ahead is. */
void choice_retired(struct stream *lane, uint64_t count) {
    struct stream *s = lane->parent;
    struct choice *c = s->choice;
    c->open -= count;
    if (completion_dead(s->set->com)) return;
    if (choice_over(c) || (c->next.graph && c->open <= CHOICE_AHEAD / 2)) make_due(s);
}
