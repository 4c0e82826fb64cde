/* SPDX-License-Identifier: Apache-2.0
 *
 * A stream's operations run in order: only the one at its head can be running. It began when it was
 * submitted or when the one before it ended, whichever was later. The oldest operation among a
 * client's streams is published.
 */
#include "daemon/worker/operations/status_page.h"

#include <stdio.h>
#include <string.h>

#include "common/atomics.h"
#include "daemon/device/device_inflight.h"
#include "daemon/kernels/kernel_name.h"
#include "daemon/worker/client.h"
#include "daemon/worker/stats.h"

/* The time since which the stream's head is on the device; UINT64_MAX: it is not there. */
static uint64_t since_ns_of(const struct stream *s) {
    if (!s || s->head == s->next) return UINT64_MAX;
    const struct op *op = stream_at(s, s->head);
    if (op->state != OP_RUNNING) return UINT64_MAX;
    return op->submitted_ns > s->last_end_ns ? op->submitted_ns : s->last_end_ns;
}

static struct op *oldest_op(const struct client *c, uint64_t *since_ns) {
    const struct stream *oldest = NULL;
    *since_ns = UINT64_MAX;
    for (uint32_t i = 0; c->inflight && i < stream_count(&c->streams); i++) {
        const struct stream *s = stream_any(&c->streams, i);
        uint64_t since = since_ns_of(s);
        if (since >= *since_ns) continue;
        *since_ns = since;
        oldest = s;
    }
    return oldest ? stream_at(oldest, oldest->head) : NULL;
}

/* Device time so far. A device without that figure is assumed to have done nothing else. */
static uint64_t busy_ns(const struct worker *w, const struct op *op, uint64_t since_ns) {
    if (w->ops->inflight) return w->ops->inflight->busy(w->dev, &op->dev);
    return w->now_ns > since_ns ? w->now_ns - since_ns : 0;
}

static void name_op(const struct op *op, char *out, size_t cap) {
    char name[KERNEL_NAME_BYTES];
    if (op->kind == WIRE_LAUNCH) {
        kernel_name_base(op->launch.func->name, name);
        snprintf(out, cap, "kernel %s", name);
    } else {
        snprintf(out, cap, "%s", op->kind == WIRE_COPY ? "copy" : "memset");
    }
}

/* ---- a sequence lock; the broker may read at any time ---------------------------------------- */

static void open_page(struct wire_running *r) {
    /* later stores are not visible before this */
    atom_exchange(&r->seq, atom_load_relaxed(&r->seq) + 1);
}

static void close_page(struct wire_running *r) {
    atom_store_release(&r->seq, atom_load_relaxed(&r->seq) + 1);
}

static void look_at(struct client *c) {
    struct wire_running *r = &c->com.page->running;
    const struct worker *w = c->worker;
    uint64_t since;
    const struct op *op = oldest_op(c, &since);
    if (op && (w->now_ns < since || w->now_ns - since < STATUS_PAGE_LEAST_NS)) op = NULL;
    if (!op && !c->shown) return;
    open_page(r);
    if (!op)
        r->since_ns = r->busy_ns = 0;
    else
        r->busy_ns = busy_ns(w, op, since);
    if (op && (op != c->shown || since != r->since_ns)) {
        r->since_ns = since;
        r->launch = op->kind == WIRE_LAUNCH ? op->launch.number : 0;
        name_op(op, r->what, sizeof(r->what));
    }
    close_page(r);
    c->shown = op;
}

void status_page_over(struct client *c, const struct op *op) {
    struct wire_running *r = &c->com.page->running;
    c->shown = NULL;
    open_page(r);
    r->since_ns = r->busy_ns = 0;
    stats_add(&c->com.page->stats.busy_ns, op->dev.busy_ns);
    close_page(r);
}

/* ---- times of updates ------------------------------------------------------------------------ */

uint64_t status_page_next_ns(const struct worker *w) {
    return w->load.inflight ? w->loop.status_ns : UINT64_MAX;
}

void status_page_update(struct worker *w) {
    struct list *pos;
    list_each(pos, &w->clients.list) look_at(list_entry(pos, struct client, link));
}
