/* SPDX-License-Identifier: Apache-2.0
 *
 * Models of nodes ("makes"): the capacity of an empty node. The number of nodes per model tells
 * whether a job can run at all, without a scan of the nodes.
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
    uint64_t gpu_bytes[PLACE_GPUS_A_NODE]; /* descending */
    uint32_t here, open;                   /* present nodes; those of them that are not shut */
    uint32_t most;                         /* the most nodes that were present at a time */
};

struct makes {
    struct make *at;
    uint32_t count, capacity;
};

void makes_finish(struct makes *m);
/* Reserves memory for this many more models. Returns 0 or -ENOMEM. */
int makes_reserve(struct makes *m, uint64_t more);

/* The number of a node's model; memory must be reserved. Does not count the node. */
uint32_t makes_of(struct makes *m, const struct place_node *node);
/* Count a node that appears (open), disappears, or is opened or shut. */
void makes_come(struct makes *m, uint32_t make);
void makes_go(struct makes *m, uint32_t make, bool open);
void makes_set_open(struct makes *m, uint32_t make, bool open);

/* Number of the job's tasks that an empty node of this model holds. */
uint32_t makes_hold(const struct make *make, const struct demand *d);
/* NULL if all nodes that were ever present could hold the job, or none was present yet. Else the
 * reason why not. */
const char *makes_fault(const struct makes *m, const struct demand *d);
/* The most memory per GPU that a task could have on any node that was ever present. */
uint64_t makes_most(const struct makes *m, const struct demand *d);
/* Tests whether the open nodes could hold the job if they were empty. */
bool makes_open_hold(const struct makes *m, const struct demand *d);

#endif
