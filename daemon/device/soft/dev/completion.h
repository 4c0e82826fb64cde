/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations that have completed, until the worker takes them. The pool's threads, and the worker's
 * for small transfers, add to them. The pool's lock guards all calls but completion_init,
 * completion_finish and completion_none.
 */
#ifndef DAEMON_DEVICE_SOFT_DEV_COMPLETION_H
#define DAEMON_DEVICE_SOFT_DEV_COMPLETION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "daemon/device/device.h"

struct completions {
    /* Becomes readable when an operation is added while the worker is about to sleep. */
    int event_fd;
    bool armed; /* the worker sleeps, or is about to: the next event wakes it */
    struct dev_op *first, **last;
    bool news; /* completion_tell was called, and the worker has not looked since */
    /* 1 after completion_add or completion_tell; lets the worker check without the lock */
    _Atomic uint32_t waiting;
};

/* Returns 0 or -errno. */
int completion_init(struct completions *c);
void completion_finish(struct completions *c);

void completion_add(struct completions *c, struct dev_op *op);
/* Wakes the worker, because there is something else to look at. */
void completion_wake(struct completions *c);
/* As completion_wake. If the worker is not armed yet, its next completion_arm fails. */
void completion_tell(struct completions *c);
bool completion_none(struct completions *c);
/* Takes all completed operations, in order, linked by `next`. Returns NULL if there are none. */
struct dev_op *completion_take(struct completions *c);
/* Announces that the worker is about to sleep. Returns false if completed operations are waiting
 * already, or completion_tell was called. */
bool completion_arm(struct completions *c);

#endif
