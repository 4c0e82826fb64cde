/* SPDX-License-Identifier: Apache-2.0
 *
 * Tasks that only take time: when each begins and ends, were there a GPU for them. A task has the
 * multiprocessors that it needs to itself; it begins as soon as they are free and those before it
 * have begun, the higher level first. Nothing is late: a task that follows another begins when that
 * one was to end, however long after that it is looked at.
 *
 * Owner: the pool, whose lock guards it. Time comes from the caller, CLOCK_MONOTONIC in ns.
 */
#ifndef DAEMON_DEVICE_SOFT_DEV_TIMELINE_H
#define DAEMON_DEVICE_SOFT_DEV_TIMELINE_H

#include <stdint.h>

#include "common/list.h"
#include "daemon/device/soft/dev/task.h"

#define TIMELINE_LEVELS 2

struct timeline {
    struct list ready[TIMELINE_LEVELS]; /* tasks that have not begun, by their ready_link */
    struct list running;                /* first: the one that ends first */
    struct list cancelled;
    uint32_t sms, free_sms;
    uint64_t freed_ns; /* since when as many are free */
    uint64_t at_ns;    /* of the end that timeline_next gave last; 0: of none */
};

void timeline_init(struct timeline *tl, uint32_t sms);

/* The task is its queue's first: ready now, or when the one ended that timeline_next gave last. One
 * that is here already may have another level, or have been cancelled. */
void timeline_add(struct timeline *tl, struct task *t, uint64_t now_ns);

/* The next that is over by `now_ns`, in the order of their ends, its operation's times filled in;
 * NULL: none is. */
struct task *timeline_next(struct timeline *tl, uint64_t now_ns);

/* When there will be one; UINT64_MAX: never, as it is. */
uint64_t timeline_end_ns(const struct timeline *tl);

#endif
