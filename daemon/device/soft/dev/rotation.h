/* SPDX-License-Identifier: Apache-2.0
 *
 * The order in which a client's operations take turns on a deterministic device: slices of counted
 * instructions, one after the other, so that nothing depends on how many threads there are or on
 * what others run. Mostly there is one operation; more are there only where the ones before them do
 * nothing but ask for what has not come: a kernel that waits for a later one. When all of them only
 * ask, they stand still until another operation comes or ROTATION_PAUSE_NS have passed, so that a
 * later operation begins at the same count each time, however late its program submits it within
 * that time.
 *
 * Owner: the space. Guarded by the pool's lock.
 */
#ifndef DAEMON_DEVICE_SOFT_DEV_ROTATION_H
#define DAEMON_DEVICE_SOFT_DEV_ROTATION_H

#include <stdbool.h>
#include <stdint.h>

#include "common/list.h"

struct task;

#define ROTATION_PATIENCE 256u      /* slices of asking after which a task is taken to wait */
#define ROTATION_PAUSE_NS 10000000u /* how long all of them stand still at most */

struct rotation {
    struct task *turn;  /* whose it is: the one task that the device's threads see; NULL: none */
    struct list others; /* by their ready_link, in the order of their turns */
    struct list coming; /* those that begin when all others stand still or are over */
    struct list paused; /* of the pool, while all stand still */
    uint64_t until_ns;
};

void rotation_init(struct rotation *r);

/* The task is its queue's first, and new: it begins when all others stand still or are over. True:
 * now, and it is its turn. */
bool rotation_add(struct rotation *r, struct task *t);
/* The one whose turn it was has had its slice. The next one; NULL: all stand still from now on. */
struct task *rotation_next(struct rotation *r);
/* A task is over or cancelled: it takes no more turns, and the others are patient again. The one
 * whose turn it is now, if that is another one than before; else NULL. */
struct task *rotation_remove(struct rotation *r, struct task *t);
/* The pause is over: the first of them, which are patient again; NULL: there is none. */
struct task *rotation_resume(struct rotation *r);
/* How many stand still. */
uint32_t rotation_stalled(const struct rotation *r);

static inline bool rotation_empty(const struct rotation *r) {
    return !r->turn && list_empty(&r->others) && list_empty(&r->coming);
}

#endif
