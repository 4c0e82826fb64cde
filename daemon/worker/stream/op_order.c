/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/worker/stream/op_order.h"

#include <errno.h>
#include <stdlib.h>

#include "daemon/worker/stream/op.h"

#define FIRST_RING 64u

void op_order_finish(struct op_order *o) {
    free(o->line.ring);
    o->line = (struct op_line){0};
}

static struct op **place(const struct op_line *l, uint64_t turn) {
    return &l->ring[turn & l->mask];
}

static int grow(struct op_line *l) {
    uint64_t mask = l->ring ? 2 * l->mask + 1 : FIRST_RING - 1;
    struct op **ring = malloc((mask + 1) * sizeof(*ring));
    if (!ring) return -ENOMEM;
    for (uint64_t turn = l->low; turn != l->next; turn++)
        ring[turn & mask] = *place(l, turn);
    free(l->ring);
    l->ring = ring;
    l->mask = mask;
    return 0;
}

int op_order_push(struct op_order *o, struct op *op) {
    struct op_line *l = &o->line;
    if ((!l->ring || l->next - l->low > l->mask) && grow(l)) return -ENOMEM;
    op->turn = l->next++;
    op->counted = false;
    *place(l, op->turn) = op;
    return 0;
}

struct op *op_order_next(const struct op_order *o, bool (*waits)(const struct op *op)) {
    const struct op_line *l = &o->line;
    if (o->open) return NULL;
    for (uint64_t turn = l->low; turn != l->next; turn++) {
        struct op *op = *place(l, turn);
        if (op && op->state == OP_QUEUED && !waits(op)) return op;
    }
    return NULL;
}

static uint64_t *count_of(struct op_order *o, const struct op *op) {
    return op->kind == WIRE_GRAPH_SETTLE ? &o->open : &o->running;
}

void op_order_begin(struct op_order *o, struct op *op) {
    /* Both may wait for later operations, a loop of a conditional node too. */
    if (op->counted || op->kind == WIRE_VALUE_WAIT || op->kind == WIRE_GRAPH_CHOICE) return;
    op->counted = true;
    ++*count_of(o, op);
}

void op_order_retire(struct op_order *o, struct op *op) {
    struct op_line *l = &o->line;
    *place(l, op->turn) = NULL;
    while (l->low != l->next && !*place(l, l->low))
        l->low++;
    if (op->counted) --*count_of(o, op);
    op->counted = false;
}
