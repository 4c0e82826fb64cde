/* SPDX-License-Identifier: Apache-2.0
 *
 * The list of waits, which is walked in turns, and the times of the walks.
 */
#include "daemon/worker/stream/watch.h"

#include "daemon/worker/stream/op.h"

#define PART 8 /* a check is late by at most an eighth of the wait */

void watch_init(struct watch *w) {
    *w = (struct watch){0};
    list_init(&w->link);
    w->last = &w->first;
}

void watch_again(struct watch *w, struct op *op) {
    op->next = NULL;
    *w->last = op;
    w->last = &op->next;
    w->count++;
}

void watch_add(struct watch *w, struct op *op, uint64_t now_ns) {
    watch_again(w, op);
    w->since_ns = now_ns;
    w->due_ns = now_ns + WATCH_LEAST_NS;
}

struct op *watch_take(struct watch *w) {
    struct op *op = w->first;
    w->first = op->next;
    if (!w->first) w->last = &w->first;
    op->next = NULL;
    w->count--;
    return op;
}

void watch_looked(struct watch *w, bool came, uint64_t completed, uint64_t now_ns) {
    if (came) w->since_ns = now_ns;
    uint64_t pause = (now_ns - w->since_ns) / PART;
    if (pause < WATCH_LEAST_NS) pause = WATCH_LEAST_NS;
    if (pause > WATCH_MOST_NS) pause = WATCH_MOST_NS;
    w->due_ns = now_ns + pause;
    w->completed = completed;
}

void watch_forget(struct watch *w) {
    list_remove(&w->link);
    w->first = NULL;
    w->last = &w->first;
    w->count = 0;
}

/* Compares as signed numbers of the cell's size that wrap around. */
static bool is_reached(const struct op *op, uint64_t cell) {
    uint64_t ahead = cell - op->value.value;
    return op->value.bytes == 8 ? (int64_t)ahead >= 0 : (int32_t)ahead >= 0;
}

bool watch_met(const struct op *op, uint64_t cell) {
    uint64_t all = op->value.bytes == 8 ? UINT64_MAX : UINT32_MAX, value = op->value.value;
    switch (op->value.compare) {
    case WIRE_VALUE_GEQ: return is_reached(op, cell);
    case WIRE_VALUE_EQ: return cell == value;
    case WIRE_VALUE_AND: return (cell & value) != 0;
    default: return (~(cell | value) & all) != 0;
    }
}
