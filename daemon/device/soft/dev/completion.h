/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations that have completed, until the worker takes them. The pool's threads add to them; all
 * calls except completion_none need the pool's lock.
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
    bool armed;
    struct dev_op *first, **last;
    bool news;                /* completion_tell was called, and the worker has not looked since */
    _Atomic uint32_t waiting; /* lets the worker check without the lock */
};

/* Returns 0 or -errno. */
int completion_init(struct completions *c);
void completion_finish(struct completions *c);

void completion_add(struct completions *c, struct dev_op *op);
/* Wakes the worker, because there is something else to look at. */
void completion_wake(struct completions *c);
/* As completion_wake, but also holds for a worker that is only about to sleep. */
void completion_tell(struct completions *c);
bool completion_none(struct completions *c);
/* Takes all completed operations, in order, linked by `next`. */
struct dev_op *completion_take(struct completions *c);
/* Announces that the worker is about to sleep. Returns false if completed operations are waiting
 * already. */
bool completion_arm(struct completions *c);

#endif
