/* SPDX-License-Identifier: Apache-2.0
 *
 * Nodes by index and by id, and their used CPU and memory.
 *
 * Owner: struct place. Thread: its owner's.
 */
#ifndef DAEMON_PLACE_STATE_NODES_H
#define DAEMON_PLACE_STATE_NODES_H

#include <stdbool.h>
#include <stdint.h>

#include "common/slotmap.h"
#include "daemon/place/state/demand.h"

#define NODES_NONE UINT32_MAX

struct node {
    uint64_t id, labels;
    uint64_t cpu_milli, memory_bytes;
    /* May exceed the capacity: jobs that already run are accepted as they are. */
    uint64_t used_cpu_milli, used_bytes;
    uint32_t gpu_first, gpu_count, make;
    uint32_t jobs; /* tasks on the node */
    enum place_kind side;
    bool here, shut, kept;
    /* Used within one search; 0 between searches. */
    uint64_t met;   /* bit set of its GPUs found so far */
    uint32_t taken; /* number of tasks assigned */
    uint32_t next_free;
};

struct nodes {
    struct node *at;
    uint32_t used, capacity, count, free;
    struct slotmap ids;
};

void nodes_init(struct nodes *n);
void nodes_finish(struct nodes *n);
/* Reserves memory for this many more nodes. Returns 0 or -ENOMEM. */
int nodes_reserve(struct nodes *n, uint64_t more);

/* NULL, or why the node is invalid. */
const char *nodes_fault(const struct place_node *node, uint32_t curves);

/* NODES_NONE if there is no node with this id. */
uint32_t nodes_find(const struct nodes *n, uint64_t id);
/* Memory must be reserved; the caller sets the node's GPUs and model. */
uint32_t nodes_add(struct nodes *n, const struct place_node *node);
void nodes_remove(struct nodes *n, uint32_t place);

/* Free CPU and memory. */
uint64_t nodes_cpu_milli(const struct node *n);
uint64_t nodes_bytes(const struct node *n);
/* Tests whether the node has CPU and memory for `tasks` tasks of the job, (5). */
bool nodes_hold(const struct node *n, const struct demand *d, uint32_t tasks);

#endif
