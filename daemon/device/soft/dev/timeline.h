/* SPDX-License-Identifier: Apache-2.0
 *
 * Computes when tasks that only take time would begin and end if a GPU ran them. A task has the
 * multiprocessors that it needs for itself. It begins as soon as they are free and the tasks before
 * it have begun, the higher level first. Late calls delay nothing: a task that follows another
 * begins when that one was to end, however much later the caller looks.
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
    uint64_t freed_ns; /* time since which free_sms are free */
    uint64_t at_ns;    /* end of the task that timeline_next returned last; 0: none */
};

void timeline_init(struct timeline *tl, uint32_t sms);

/* Adds a task that is the first of its queue. It is ready now, or at the end of the task that
 * timeline_next returned last. A second call for the same task updates its level or cancels it. */
void timeline_add(struct timeline *tl, struct task *t, uint64_t now_ns);

/* Returns the next task that is over by `now_ns`, in the order of their ends, with the operation's
 * times filled in. Returns NULL if there is none. */
struct task *timeline_next(struct timeline *tl, uint64_t now_ns);

/* Time of the next end. 0: a cancelled task waits for timeline_next. UINT64_MAX: no task will end
 * as things are. */
uint64_t timeline_end_ns(const struct timeline *tl);

#endif
