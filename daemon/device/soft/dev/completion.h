/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations that have completed, until the worker asks for them. All calls but completion_none
 * with the lock of the pool held, whose threads add to them.
 */
#ifndef DAEMON_DEVICE_SOFT_DEV_COMPLETION_H
#define DAEMON_DEVICE_SOFT_DEV_COMPLETION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "daemon/device/device.h"

struct completions {
    int event_fd; /* becomes readable when one is added and the worker is about to sleep */
    bool armed;
    struct dev_op *first, **last;
    bool news;                /* completion_tell was called, and nobody has looked since */
    _Atomic uint32_t waiting; /* lets the worker look without the lock */
};

/* 0 or -errno. */
int completion_init(struct completions *c);
void completion_finish(struct completions *c);

void completion_add(struct completions *c, struct dev_op *op);
/* There is something else for the worker to look at. */
void completion_wake(struct completions *c);
/* The same, for somebody who is about to sleep too. */
void completion_tell(struct completions *c);
bool completion_none(struct completions *c);
/* All of them, in order, through `next`. */
struct dev_op *completion_take(struct completions *c);
/* False: some are waiting already. */
bool completion_arm(struct completions *c);

#endif
