/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs suspects one after the other.
 */
#include "daemon/worker/faults/fault_isolation.h"

#include "common/log.h"

static bool is_on_trial(const struct op *op) {
    return op->again && client_of(op->stream)->replay.suspects;
}

static bool is_on(const struct fault_isolation *t) {
    return t->alone || t->waiting;
}

static void append(struct op ***last, struct op *op) {
    op->next = NULL;
    **last = op;
    *last = &op->next;
}

static struct op *take_first(struct op **first, struct op ***last) {
    struct op *op = *first;
    *first = op->next;
    if (!*first) *last = first;
    return op;
}

bool fault_isolation_hold(struct worker *w, struct op *op) {
    struct fault_isolation *t = &w->isolation;
    bool tried = is_on_trial(op);
    if (tried ? !t->alone && !t->kernels : !is_on(t)) return false;
    if (tried && !is_on(t)) t->since_ns = w->now_ns;
    if (tried)
        append(&t->waiting_last, op);
    else
        append(&t->held_last, op);
    return true;
}

void fault_isolation_note_alone(struct worker *w, const struct op *op) {
    if (!is_on_trial(op)) return;
    w->isolation.alone = op;
    w->isolation.since_ns = w->now_ns;
    log_info("client",
             "job=%u event=runs-alone kernel=%s launch=%llu why=\"the kernel was running when the "
             "device was lost\"",
             client_of(op->stream)->job_id, op->launch.func->name,
             (unsigned long long)op->launch.number);
}

/* ---- the next operation ---------------------------------------------------------------------- */

static bool is_overdue(const struct worker *w) {
    return w->now_ns - w->isolation.since_ns >= FAULT_ISOLATION_NS;
}

bool fault_isolation_ready(const struct worker *w) {
    const struct fault_isolation *t = &w->isolation;
    if (!t->waiting && !t->held) return false;
    if (t->alone || (t->waiting && t->kernels)) return is_overdue(w);
    return true;
}

uint64_t fault_isolation_next_ns(const struct worker *w) {
    const struct fault_isolation *t = &w->isolation;
    return t->waiting || t->held ? t->since_ns + FAULT_ISOLATION_NS : UINT64_MAX;
}

/* Ends the trial of all kernels of the operation's client: from now on they run beside others. */
static void give_up(const struct op *op) {
    struct client *c = client_of(op->stream);
    c->replay.suspects = 0;
    log_warn("client",
             "job=%u name=\"%s\" event=runs-together kernel=%s why=\"the kernel did not end while "
             "it ran alone\"",
             c->job_id, c->name, op->launch.func->name);
}

struct op *fault_isolation_next(struct worker *w) {
    struct fault_isolation *t = &w->isolation;
    if (!fault_isolation_ready(w)) return NULL;
    if (t->alone) {
        give_up(t->alone);
        t->alone = NULL;
        t->since_ns = w->now_ns;
        if (t->waiting && t->kernels) return NULL;
    }
    if (!t->waiting) return take_first(&t->held, &t->held_last);
    struct op *op = take_first(&t->waiting, &t->waiting_last);
    if (t->kernels) give_up(op);
    t->since_ns = w->now_ns;
    return op;
}

/* ---- a client that ends ---------------------------------------------------------------------- */

static void take_of(const struct client *c, struct op **list, struct op ***last,
                    struct op ***taken) {
    struct op *rest = *list;
    *list = NULL;
    *last = list;
    for (struct op *op = rest, *next; op; op = next) {
        next = op->next;
        append(client_of(op->stream) == c ? taken : last, op);
    }
}

struct op *fault_isolation_forget(struct client *c) {
    struct fault_isolation *t = &c->worker->isolation;
    struct op *first = NULL, **last = &first;
    take_of(c, &t->waiting, &t->waiting_last, &last);
    take_of(c, &t->held, &t->held_last, &last);
    return first;
}
