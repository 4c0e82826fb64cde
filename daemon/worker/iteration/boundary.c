/* SPDX-License-Identifier: Apache-2.0
 *
 * Boundaries: found while reading, passed when nothing of the iteration is open.
 */
#include "daemon/worker/iteration/boundary.h"

#include "common/atomics.h"
#include "common/log.h"
#include "daemon/worker/client.h"
#include "daemon/worker/engine/engine.h"
#include "daemon/worker/fault.h"
#include "daemon/worker/memory/credit.h"
#include "daemon/worker/profile/profiling.h"
#include "daemon/worker/stats.h"

/* A mark comes before the iteration's first operation, often by microseconds. Passed at once, the
 * boundary would find the job not ready, and the turn would go to one that ranks behind it. */
#define BOUNDARY_MOMENT_NS 1000000ull
/* Without any progress: a host function may take so long, and a kernel on the software GPU. */
#define BOUNDARY_HOST_NS 20000000ull
#define BOUNDARY_KERNEL_NS 2000000000ull

int boundary_init(struct client *c) {
    list_init(&c->boundary.link);
    return iteration_create(&c->boundary.detector);
}

void boundary_finish(struct client *c) {
    list_remove(&c->boundary.link);
    iteration_destroy(c->boundary.detector);
}

/* ---- found ----------------------------------------------------------------------------------- */

/* The next record begins an iteration. */
static void boundary_begin(struct client *c) {
    struct boundary *b = &c->boundary;
    lifetime_mark(&c->lifetime);
    b->reading++;
    b->first_op = c->pushed;
    b->begun_ns = c->worker->now_ns;
    atom_store_relaxed(&c->com->boundary_uses, c->lifetime.uses);
    atom_store_relaxed(&c->com->boundary_filled, c->lifetime.filled_uses);
    atom_store_release(&c->com->boundaries, b->reading);
    if (b->open[b->current & 1] == 0) boundary_ready(b, &c->worker->passing);
}

static void boundary_hold(struct client *c, struct op *op) {
    struct boundary *b = &c->boundary;
    b->held = op;
    b->held_ns = c->worker->now_ns;
    b->held_completed = c->completed;
    c->deaf |= CLIENT_HELD;
    c->worker->held_count++;
}

/* What was held belongs to `reading`, whatever that is now. */
static void boundary_release(struct client *c) {
    struct op *op = c->boundary.held;
    if (!(c->deaf & CLIENT_HELD)) return;
    c->boundary.held = NULL;
    c->deaf &= (uint8_t)~CLIENT_HELD;
    c->worker->held_count--;
    if (!op) return;
    lifetime_launch(&c->lifetime);
    if (stream_push(op->stream, op) == 0) return;
    profiling_drop(c->worker, op);
    op_give(&c->pool, op);
    fault_expel(c, "out of memory for an operation");
}

int boundary_launch(struct client *c, struct op *op, uint64_t print) {
    struct boundary *b = &c->boundary;
    const struct dev_launch *l = &op->launch.args;
    if (iteration_launch(b->detector, iteration_print(print, l->grid, l->block),
                         c->lifetime.live_bytes, c->worker->now_ns)) {
        if (b->reading != b->current) {
            boundary_hold(c, op);
            return 0;
        }
        boundary_begin(c);
    }
    lifetime_launch(&c->lifetime);
    return stream_push(op->stream, op);
}

/* An iteration without an operation is none: a flood of marks costs nobody anything. */
void boundary_mark(struct client *c) {
    struct boundary *b = &c->boundary;
    if (!iteration_mark(b->detector, c->worker->now_ns) || b->first_op == c->pushed) return;
    if (b->reading != b->current)
        boundary_hold(c, NULL);
    else
        boundary_begin(c);
}

void boundary_idle(struct client *c) {
    iteration_idle(c->boundary.detector, c->worker->now_ns);
}

void boundary_ready(struct boundary *b, struct list *passing) {
    if (list_empty(&b->link)) list_append(passing, &b->link);
}

/* ---- passed ---------------------------------------------------------------------------------- */

static bool boundary_keep(void *arg, uint64_t addr, uint64_t bytes) {
    struct client *c = arg;
    if (credit_keep(c, addr, bytes)) return true;
    c->stranded = true; /* its lane is not left with data in it: residence.c */
    return false;
}

static void boundary_set_early(struct client *c, bool early) {
    if (early == c->boundary.early) return;
    c->boundary.early = early;
    if (early)
        c->worker->early_count++;
    else
        c->worker->early_count--;
}

void boundary_pass(struct client *c) {
    struct boundary *b = &c->boundary;
    bool over = !client_dead(c) && b->reading != b->current && !b->open[b->current & 1];
    boundary_set_early(c, over && c->pushed == b->first_op && !(c->deaf & CLIENT_HELD) &&
                              c->worker->now_ns - b->begun_ns < BOUNDARY_MOMENT_NS);
    if (!over || b->early) return;
    c->stranded = false;
    stats_add(&c->com->stats.survivors, lifetime_settle(&c->lifetime, boundary_keep, c));
    if (++b->passed == BOUNDARY_MEASURED && c->spec.unknown) credit_word(c);
    credit_iteration(c);
    engine_boundary(c); /* after the word: the lane shrinks at this boundary */
    b->current++;
    if (!(c->deaf & CLIENT_HELD)) return;
    boundary_begin(c);
    boundary_release(c);
}

void boundary_forget(struct client *c) {
    list_remove(&c->boundary.link);
    boundary_set_early(c, false);
    boundary_release(c);
}

/* Waiting for its turn is no reason: then nothing of it is anywhere. */
static bool boundary_stuck(const struct client *c) {
    const struct boundary *b = &c->boundary;
    uint64_t waited = c->worker->now_ns - b->held_ns;
    if (c->callbacks_posted != c->callbacks_done) return waited >= BOUNDARY_HOST_NS;
    return c->inflight && waited >= BOUNDARY_KERNEL_NS;
}

void boundary_relent(struct worker *w) {
    struct list *pos;
    if (!w->held_count && !w->early_count) return;
    list_each(pos, &w->clients) {
        struct client *c = list_entry(pos, struct client, link);
        if (c->boundary.early) boundary_ready(&c->boundary, &w->passing);
        if (!(c->deaf & CLIENT_HELD)) continue;
        if (c->completed != c->boundary.held_completed) {
            c->boundary.held_completed = c->completed;
            c->boundary.held_ns = w->now_ns;
        } else if (boundary_stuck(c)) {
            log_info("client", "job=%u iteration=%u does not end: read on", c->job_id,
                     c->boundary.current);
            boundary_release(c);
        }
    }
}
