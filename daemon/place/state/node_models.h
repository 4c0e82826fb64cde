/* SPDX-License-Identifier: Apache-2.0
 *
 * Models of nodes ("makes"): the capacity of an empty node. The number of nodes per model tells
 * whether a job can run at all, without a scan of the nodes.
 *
 * Owner: struct place. Thread: its owner's.
 */
#ifndef DAEMON_PLACE_STATE_NODE_MODELS_H
#define DAEMON_PLACE_STATE_NODE_MODELS_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/place/state/demand.h"

struct node_model {
    uint64_t cpu_milli, memory_bytes, labels;
    uint32_t gpu_count;
    uint64_t gpu_bytes[PLACE_GPUS_A_NODE]; /* descending */
    uint32_t here, open;                   /* present nodes; those of them that are not shut */
    uint32_t most;                         /* the most nodes that were present at a time */
};

struct node_models {
    struct node_model *at;
    uint32_t count, capacity;
};

void node_models_finish(struct node_models *m);
/* Reserves memory for this many more models. Returns 0 or -ENOMEM. */
int node_models_reserve(struct node_models *m, uint64_t more);

/* The number of a node's model; memory must be reserved. Does not count the node. */
uint32_t node_models_of(struct node_models *m, const struct place_node *node);
/* Count a node that appears (open), disappears, or is opened or shut. */
void node_models_come(struct node_models *m, uint32_t make);
void node_models_go(struct node_models *m, uint32_t make, bool open);
void node_models_set_open(struct node_models *m, uint32_t make, bool open);

/* Number of the job's tasks that an empty node of this model holds. */
uint32_t node_models_hold(const struct node_model *make, const struct demand *d);
/* NULL if all nodes that were ever present could hold the job, or none was present yet. Else the
 * reason why not. */
const char *node_models_fault(const struct node_models *m, const struct demand *d);
/* The most memory per GPU that a task could have on any node that was ever present. */
uint64_t node_models_most(const struct node_models *m, const struct demand *d);
/* Tests whether the open nodes could hold the job if they were empty. */
bool node_models_open_hold(const struct node_models *m, const struct demand *d);

#endif
