/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels on trial: the device ended while they were under way and others too, so that nobody knows
 * which of them did it (device_loss.h). Done again by the next worker, each runs alone: while it
 * does, and while the next one waits for that, the device is given no other kernel. Ends the device
 * again, that is who did it. Copies and fills are as ever.
 *
 * An operation comes here once the scheduler lets it run, and counts there as running. Nobody waits
 * longer than FAULT_ISOLATION_NS: two kernels may wait for each other.
 *
 * Owner: the worker. Thread: the worker's.
 */
#ifndef DAEMON_WORKER_FAULTS_FAULT_ISOLATION_H
#define DAEMON_WORKER_FAULTS_FAULT_ISOLATION_H

#include "daemon/worker/client.h"

#define FAULT_ISOLATION_NS 5000000000ull

bool fault_isolation_hold(struct worker *w, struct op *op);
/* It is not to be given to the device now: it is kept until fault_isolation_next or
 * fault_isolation_forget has it. */
static inline bool fault_isolation_holds(struct worker *w, struct op *op) {
    const struct fault_isolation *t = &w->isolation;
    if (op->kind != WIRE_LAUNCH || !(op->again || t->alone || t->waiting)) return false;
    return fault_isolation_hold(w, op);
}

void fault_isolation_note_alone(struct worker *w, const struct op *op);
/* It was given to the device. */
static inline void fault_isolation_began(struct worker *w, const struct op *op) {
    if (op->kind != WIRE_LAUNCH) return;
    w->isolation.kernels++;
    if (op->again) fault_isolation_note_alone(w, op);
}

/* The device is done with it. */
static inline void fault_isolation_ended(struct worker *w, const struct op *op) {
    if (op->kind != WIRE_LAUNCH) return;
    w->isolation.kernels--;
    if (op == w->isolation.alone) w->isolation.alone = NULL;
}

/* True if fault_isolation_next has a client. */
bool fault_isolation_ready(const struct worker *w);
/* When it will at the latest; UINT64_MAX: nothing waits. */
uint64_t fault_isolation_next_ns(const struct worker *w);
/* The next to run; NULL: none yet. */
struct op *fault_isolation_next(struct worker *w);
/* The client's, through op.next: it is dead. */
struct op *fault_isolation_forget(struct client *c);

#endif
