/* SPDX-License-Identifier: Apache-2.0
 *
 * The order in which a client's operations take turns on a deterministic device. Slices of counted
 * instructions run one after the other, so that nothing depends on the number of threads or on
 * other clients. Mostly there is one operation; further ones begin only when the ones before them
 * do nothing but poll for something that has not come: a kernel that waits for a later one. When
 * all of them only poll, they stall until another operation comes or ROTATION_PAUSE_NS have passed.
 * So a later operation begins at the same instruction count each time, however late within that
 * time its program submits it.
 *
 * Owner: the space. Guarded by the pool's lock.
 */
#ifndef DAEMON_DEVICE_SOFT_DEV_ROTATION_H
#define DAEMON_DEVICE_SOFT_DEV_ROTATION_H

#include <stdbool.h>
#include <stdint.h>

#include "common/list.h"

struct task;

#define ROTATION_PATIENCE 256u      /* slices of polling after which a task counts as waiting */
#define ROTATION_PAUSE_NS 10000000u /* longest stall of all tasks */

struct rotation {
    struct task *turn;  /* the one task that the device's threads see; NULL: none */
    struct list others; /* linked by ready_link, in the order of their turns */
    struct list coming; /* tasks that begin when all others stall or are over */
    struct list paused; /* link in the pool's list while all tasks stall */
    uint64_t until_ns;  /* end of the pause, while `paused` is linked */
};

void rotation_init(struct rotation *r);

/* Adds a new task that is the first of its queue. It begins when all others stall or are over.
 * Returns true if it begins now and has the turn. */
bool rotation_add(struct rotation *r, struct task *t);
/* Ends the turn of a task after its slice. Returns the next task, or NULL if all stall from now
 * on. */
struct task *rotation_next(struct rotation *r);
/* Removes a task that is over or cancelled; the poll counts of the others restart. Returns the task
 * that has the turn now if that changed, else NULL. */
struct task *rotation_remove(struct rotation *r, struct task *t);
/* Ends the pause. Returns the first task, or NULL if there is none; all poll counts restart. */
struct task *rotation_resume(struct rotation *r);
/* Returns how many tasks stall; 0 while one has the turn. */
uint32_t rotation_stalled(const struct rotation *r);

static inline bool rotation_empty(const struct rotation *r) {
    return !r->turn && list_empty(&r->others) && list_empty(&r->coming);
}

#endif
