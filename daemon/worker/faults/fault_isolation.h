/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels on trial. When the device is lost with several kernels in flight, the culprit among them
 * is unknown (device_loss.h). The next worker runs each of these suspects alone: while one runs, or
 * waits for its turn, the device gets no other kernel. A suspect that loses the device again is the
 * culprit. Copies and fills continue as usual.
 *
 * An operation comes here once the scheduler lets it run, and counts there as running. No operation
 * waits longer than FAULT_ISOLATION_NS for the same kernel, because two kernels may wait for each
 * other.
 *
 * Owner: the worker. Thread: the worker's.
 */
#ifndef DAEMON_WORKER_FAULTS_FAULT_ISOLATION_H
#define DAEMON_WORKER_FAULTS_FAULT_ISOLATION_H

#include "daemon/worker/client.h"

#define FAULT_ISOLATION_NS 5000000000ull

bool fault_isolation_hold(struct worker *w, struct op *op);
/* True when the operation must not go to the device now. It is held until fault_isolation_next or
 * fault_isolation_forget returns it. */
static inline bool fault_isolation_holds(struct worker *w, struct op *op) {
    const struct fault_isolation *t = &w->isolation;
    if (op->kind != WIRE_LAUNCH || !(op->again || t->alone || t->waiting)) return false;
    return fault_isolation_hold(w, op);
}

void fault_isolation_note_alone(struct worker *w, const struct op *op);
/* Records that the operation went to the device. */
static inline void fault_isolation_began(struct worker *w, const struct op *op) {
    if (op->kind != WIRE_LAUNCH) return;
    w->isolation.kernels++;
    if (op->again) fault_isolation_note_alone(w, op);
}

/* Records that the device has finished the operation. */
static inline void fault_isolation_ended(struct worker *w, const struct op *op) {
    if (op->kind != WIRE_LAUNCH) return;
    w->isolation.kernels--;
    if (op == w->isolation.alone) w->isolation.alone = NULL;
}

/* True if fault_isolation_next has an operation to return. */
bool fault_isolation_ready(const struct worker *w);
/* The latest time at which an operation becomes ready; UINT64_MAX: none waits. */
uint64_t fault_isolation_next_ns(const struct worker *w);
/* The next operation to run; NULL: none yet. */
struct op *fault_isolation_next(struct worker *w);
/* Removes and returns the operations of a dead client, linked through op.next. */
struct op *fault_isolation_forget(struct client *c);

#endif
