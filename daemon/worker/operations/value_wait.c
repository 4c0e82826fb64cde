/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads cells where their bytes are.
 */
#include "daemon/worker/operations/value_wait.h"

#include <errno.h>

#include "common/atomics.h"
#include "daemon/worker/client.h"
#include "daemon/worker/memory/memory_peek.h"
#include "daemon/worker/operations/progress.h"
#include "daemon/worker/scheduling/sched_link.h"

#define VALUE_WAIT_SHARE 16 /* cells of a client that are checked in one call */

static int read_cell(const struct client *c, const struct op *op, uint64_t *cell) {
    uint32_t bytes = op->value.bytes;
    const void *host = client_host(c, op->value.addr, bytes);
    if (!host) return memory_peek(c->memory, op->value.addr, bytes, cell);
    *cell = bytes == 8 ? atom_load_acquire((const _Atomic uint64_t *)host)
                       : atom_load_acquire((const _Atomic uint32_t *)host);
    return 0;
}

/* 0: the wait is over. -EAGAIN: it is not. A null job's waits end at once, because its kernels
 * write nothing. */
static int ask(const struct client *c, const struct op *op) {
    uint64_t cell;
    if (op->dev.result) return op->dev.result;
    if (c->null) return 0;
    int err = read_cell(c, op, &cell);
    return err ? err : watch_met(op, cell) ? 0 : -EAGAIN;
}

/* Ends the wait, or lets it fail in stream order. */
static void end_wait(struct client *c, struct op *op, int err) {
    struct stream *s = op->stream;
    c->watch.open--;
    if (err) {
        op->dev.result = err;
        op->dev.fault_addr = op->value.addr;
        s->state = STREAM_OFFERED;
        sched_link_offer(c->worker, op);
        return;
    }
    op->state = OP_DONE;
    op->dev.end_ns = c->worker->now_ns;
    s->state = STREAM_READY;
}

bool value_wait_begin(struct client *c, struct op *op) {
    int err = ask(c, op);
    if (err != -EAGAIN) {
        end_wait(c, op, err);
        return !err;
    }
    if (!watch_any(&c->watch)) list_append(&c->worker->work.watching, &c->watch.link);
    watch_add(&c->watch, op, c->worker->now_ns);
    return false;
}

static unsigned look_at(struct client *c) {
    unsigned came = 0;
    uint32_t count = c->watch.count < VALUE_WAIT_SHARE ? c->watch.count : VALUE_WAIT_SHARE;
    for (uint32_t i = 0; i < count; i++) {
        struct op *op = watch_take(&c->watch);
        struct stream *s = op->stream;
        int err = ask(c, op);
        if (err == -EAGAIN) {
            watch_again(&c->watch, op);
            continue;
        }
        end_wait(c, op, err);
        if (!err) progress_retire(c, s);
        came++;
    }
    watch_looked(&c->watch, came > 0, c->streams.completed, c->worker->now_ns);
    return came;
}

static bool is_due(const struct client *c) {
    if (client_dead(c)) return false;
    /* In deterministic order, cells are read only while no operation can change memory. */
    if (c->streams.order.on && !stream_order_quiet(&c->streams)) return false;
    return c->watch.completed != c->streams.completed || c->worker->now_ns >= c->watch.due_ns;
}

unsigned value_wait_look(struct worker *w) {
    struct list *pos, *tmp;
    unsigned came = 0;
    list_each_safe(pos, tmp, &w->work.watching) {
        struct client *c = list_entry(pos, struct client, watch.link);
        if (!is_due(c)) continue;
        came += look_at(c);
        if (!watch_any(&c->watch)) list_remove(&c->watch.link);
    }
    return came;
}

uint64_t value_wait_next_ns(const struct worker *w) {
    const struct list *pos;
    uint64_t next = UINT64_MAX;
    list_each(pos, &w->work.watching) {
        const struct client *c = list_entry(pos, struct client, watch.link);
        if (c->watch.due_ns < next) next = c->watch.due_ns;
    }
    return next;
}
