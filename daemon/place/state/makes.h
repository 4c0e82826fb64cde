/* SPDX-License-Identifier: Apache-2.0
 *
 * Makes of nodes: what a node has when it is empty. How many there are of each says whether a job
 * can run at all, without a look at the nodes.
 *
 * Owner: struct place. Thread: its owner's.
 */
#ifndef DAEMON_PLACE_STATE_MAKES_H
#define DAEMON_PLACE_STATE_MAKES_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/place/state/demand.h"

struct make {
    uint64_t cpu_milli, memory_bytes, labels;
    uint32_t gpu_count;
    uint64_t gpu_bytes[PLACE_GPUS_A_NODE]; /* the largest first */
    uint32_t here, open;                   /* nodes: there; of these those that are not shut */
    uint32_t most;                         /* that were there at a time */
};

struct makes {
    struct make *at;
    uint32_t count, capacity;
};

void makes_finish(struct makes *m);
/* So many more. 0 or -ENOMEM. */
int makes_reserve(struct makes *m, uint64_t more);

/* The number of a node's make; room must be reserved. The node is not counted. */
uint32_t makes_of(struct makes *m, const struct place_node *node);
/* One of them is there, and open, or not any more. */
void makes_come(struct makes *m, uint32_t make);
void makes_go(struct makes *m, uint32_t make, bool open);
void makes_set_open(struct makes *m, uint32_t make, bool open);

/* Tasks of this job that an empty node of a make holds. */
uint32_t makes_hold(const struct make *make, const struct demand *d);
/* NULL: all nodes that were ever there could hold the job, or none was there yet. Else why not. */
const char *makes_fault(const struct makes *m, const struct demand *d);
/* The most memory that each GPU of a task could have on some node that was ever there. */
uint64_t makes_most(const struct makes *m, const struct demand *d);
/* Whether the nodes that are open could, if they were empty. */
bool makes_open_hold(const struct makes *m, const struct demand *d);

#endif
