/* SPDX-License-Identifier: Apache-2.0
 *
 * Boundaries: found while reading, passed when no operation of the iteration is open.
 */
#include "daemon/worker/operations/iteration_boundary.h"

#include "common/atomics.h"
#include "common/log.h"
#include "daemon/worker/client.h"
#include "daemon/worker/faults/fault.h"
#include "daemon/worker/memory/memory.h"
#include "daemon/worker/operations/progress.h"
#include "daemon/worker/requests/memory_grant.h"
#include "daemon/worker/residency/savepoint_writer.h"
#include "daemon/worker/scheduling/sched_link.h"
#include "daemon/worker/stats.h"

/* Time for which a record is held at most while none of the client's operations completes: while a
 * host function runs, and while a kernel runs. */
#define ITERATION_BOUNDARY_HOST_NS 20000000ull
#define ITERATION_BOUNDARY_KERNEL_NS 2000000000ull

/* ---- finding boundaries ---------------------------------------------------------------------- */

/* The next record begins an iteration. */
static void begin_pass(struct client *c, uint64_t begun_ns) {
    struct boundary *b = &c->boundary;
    struct wire_completion *page = c->com.page;
    lifetime_mark(&c->lifetime);
    iteration_gate_begin(&b->iteration_gate, begun_ns);
    atom_store_relaxed(&page->boundary_uses, c->lifetime.uses);
    atom_store_relaxed(&page->boundary_filled, c->lifetime.filled_uses);
    atom_store_release(&page->boundaries, b->earlier + b->iteration_gate.reading);
    if (iteration_gate_over(&b->iteration_gate)) boundary_ready(b, &c->worker->boundaries.passing);
}

static bool is_transfer(const struct op *op) {
    return op->kind == WIRE_COPY || op->kind == WIRE_MEMSET;
}

/* Notes that a block there holds data from now on, unless the operation fails. */
static void note_written(struct client *c, const struct op *op, uint64_t addr, uint64_t bytes) {
    if (!op->dev.result) lifetime_written(&c->lifetime, addr, bytes);
}

static void hold_op(struct client *c, struct op *op) {
    boundary_hold(&c->boundary, op, c->streams.completed, c->worker->now_ns);
    c->worker->boundaries.held++;
}

/* The held operation belongs to the iteration in `reading` at the time of its release. */
static void release_ops(struct client *c) {
    if (!boundary_holds(&c->boundary)) return;
    struct op *op = boundary_release(&c->boundary);
    c->worker->boundaries.held--;
    if (!op) return;
    if (is_transfer(op))
        note_written(c, op, c->boundary.held_addr, c->boundary.held_bytes);
    else
        lifetime_launch(&c->lifetime);
    if (progress_push(c, op->stream, op) == 0) return;
    progress_drop(c, op);
    fault_expel(c, "out of memory for an operation");
}

/* A stream that waits for a value may need any later record, so these belong to the same iteration.
 */
static bool is_open(const struct client *c) {
    return c->watch.open > 0;
}

int iteration_boundary_launch(struct client *c, struct stream *s, struct op *op,
                              uint64_t fingerprint) {
    struct boundary *b = &c->boundary;
    if (iteration_launch(b->detector, fingerprint, c->lifetime.live_bytes, c->worker->now_ns) &&
        !is_open(c)) {
        if (b->iteration_gate.reading != b->iteration_gate.current) {
            op->stream = s;
            hold_op(c, op);
            return 0;
        }
        begin_pass(c, c->worker->now_ns);
    }
    lifetime_launch(&c->lifetime);
    return progress_push(c, s, op);
}

/* A transfer's kind, direction and size to a power of two. */
static uint64_t transfer_fingerprint(const struct op *op, bool to_host, uint64_t bytes) {
    uint64_t size = bytes ? 64 - (uint64_t)__builtin_clzll(bytes) : 0;
    return ((uint64_t)op->kind << 8 | (uint64_t)to_host << 7 | size) * 0x9e3779b97f4a7c15ull;
}

int iteration_boundary_transfer(struct client *c, struct stream *s, struct op *op, bool to_host,
                                uint64_t addr, uint64_t bytes) {
    struct boundary *b = &c->boundary;
    if (iteration_transfer(b->detector, transfer_fingerprint(op, to_host, bytes), to_host,
                           c->lifetime.live_bytes, c->worker->now_ns) &&
        !is_open(c)) {
        if (b->iteration_gate.reading != b->iteration_gate.current) {
            op->stream = s;
            b->held_addr = addr;
            b->held_bytes = bytes;
            hold_op(c, op);
            return 0;
        }
        begin_pass(c, c->worker->now_ns);
    }
    note_written(c, op, addr, bytes);
    return progress_push(c, s, op);
}

static void set_waiting(struct client *c, bool waiting) {
    if (waiting == c->boundary.waiting) return;
    c->boundary.waiting = waiting;
    if (waiting)
        c->worker->boundaries.waiting++;
    else
        c->worker->boundaries.waiting--;
}

void iteration_boundary_idle(struct client *c) {
    iteration_idle(c->boundary.detector, c->worker->now_ns);
    set_waiting(c, iteration_waits(c->boundary.detector));
}

/* A mark counts only after an operation, so that a flood of marks costs nothing. */
void iteration_boundary_mark(struct client *c) {
    struct boundary *b = &c->boundary;
    if (!iteration_mark(b->detector, c->worker->now_ns) || !b->iteration_gate.sent) return;
    if (is_open(c)) return;
    if (b->iteration_gate.reading != b->iteration_gate.current)
        hold_op(c, NULL);
    else
        begin_pass(c, c->worker->now_ns);
}

/* ---- passing boundaries ---------------------------------------------------------------------- */

/* Does this round's share of keeping the survivors. True: the next block may follow in this round.
 */
static bool keep_part(void *arg, uint64_t addr, uint64_t bytes) {
    struct client *c = arg;
    int err = memory_grant_keep(c, MEMORY_ASK_SURVIVORS, addr, bytes, &c->survivors_left);
    return err != MEMORY_GRANT_WAITS && (err || c->survivors_left);
}

/* True when survivors are left. The boundary is then checked again when the scheduler has answered,
 * or in the next round. */
static bool keeps_on(struct client *c) {
    struct memory_ask *ask = &c->asks[MEMORY_ASK_SURVIVORS];
    if (lifetime_survivors(&c->lifetime, keep_part, c)) return false;
    if (memory_ask_pending(ask)) return true;
    list_remove(&c->keeping);
    list_append(&c->worker->boundaries.keeping, &c->keeping);
    return true;
}

unsigned iteration_boundary_go_on(struct worker *w) {
    unsigned count = 0;
    for (; !list_empty(&w->boundaries.keeping); count++) {
        struct client *c = list_entry(w->boundaries.keeping.next, struct client, keeping);
        list_remove(&c->keeping);
        boundary_ready(&c->boundary, &w->boundaries.passing);
    }
    return count;
}

static bool keep_block(void *arg, uint64_t addr, uint64_t bytes) {
    struct client *c = arg;
    uint32_t all = MEMORY_ALL;
    if (!memory_grant_keep(c, MEMORY_ASK_NOBODY, addr, bytes, &all)) return true;
    c->stranded = true; /* the lane still holds its data, so it is not released: residency.c */
    return false;
}

static void set_early(struct client *c, bool early) {
    if (early == c->boundary.early) return;
    c->boundary.early = early;
    if (early)
        c->worker->boundaries.early++;
    else
        c->worker->boundaries.early--;
}

static void look_on(struct client *c) {
    struct boundary *b = &c->boundary;
    bool over = !client_dead(c) && iteration_gate_over(&b->iteration_gate);
    set_early(c, over && !boundary_holds(b) &&
                     iteration_gate_waits(&b->iteration_gate, c->worker->now_ns));
    if (!over || b->early || savepoint_writer_begins(c) || keeps_on(c)) return;
    c->stranded = false;
    stats_add(&c->com.page->stats.survivors, lifetime_settle(&c->lifetime, keep_block, c));
    if (iteration_gate_pass(&b->iteration_gate) && !c->credit.known) memory_grant_word(c);
    credit_iteration(&c->credit, c->memory);
    sched_link_boundary(c); /* after the reservation: the lane shrinks at this boundary */
    if (!boundary_holds(b)) return;
    begin_pass(c, c->worker->now_ns);
    release_ops(c);
}

void iteration_boundary_look(struct client *c) {
    struct memory_ask *ask = &c->asks[MEMORY_ASK_SURVIVORS];
    ask->resume = look_on;
    if (memory_ask_pending(ask)) return;
    memory_ask_end(ask);
    c->survivors_left = WORKER_GRANULES;
    look_on(c);
}

void iteration_boundary_forget(struct client *c) {
    list_remove(&c->boundary.link);
    list_remove(&c->keeping);
    set_early(c, false);
    set_waiting(c, false);
    release_ops(c);
}

/* Waiting for its turn does not count as stuck: then none of its work is in progress. */
static bool is_stuck(const struct client *c) {
    uint64_t waited = c->worker->now_ns - c->boundary.held_ns;
    if (callback_any(&c->callbacks)) return waited >= ITERATION_BOUNDARY_HOST_NS;
    return c->inflight && waited >= ITERATION_BOUNDARY_KERNEL_NS;
}

/* Passes the boundary without another operation: the client has been idle long enough. */
static void end_idle(struct client *c) {
    struct boundary *b = &c->boundary;
    set_waiting(c, iteration_waits(b->detector));
    if (!b->waiting || client_dead(c) || is_open(c) ||
        b->iteration_gate.reading != b->iteration_gate.current)
        return;
    if (c->streams.completed != c->streams.pushed || !b->iteration_gate.sent) return;
    if (!iteration_end(b->detector, c->worker->now_ns)) return;
    /* adds no further moment for the next iteration */
    begin_pass(c, c->worker->now_ns - ITERATION_GATE_MOMENT_NS);
    set_waiting(c, false);
}

void iteration_boundary_relent(struct worker *w) {
    struct list *pos;
    if (!w->boundaries.held && !w->boundaries.early && !w->boundaries.waiting) return;
    list_each(pos, &w->clients.list) {
        struct client *c = list_entry(pos, struct client, link);
        if (c->boundary.waiting) end_idle(c);
        if (c->boundary.early) boundary_ready(&c->boundary, &w->boundaries.passing);
        if (!boundary_holds(&c->boundary)) continue;
        if (c->streams.completed != c->boundary.held_completed) {
            c->boundary.held_completed = c->streams.completed;
            c->boundary.held_ns = w->now_ns;
        } else if (is_stuck(c)) {
            log_info("client",
                     "job=%u name=\"%s\" event=boundary-skipped iteration=%u why=\"the iteration "
                     "does not end while the next one waits\"",
                     c->job_id, c->name, c->boundary.iteration_gate.current);
            release_ops(c);
        }
    }
}
