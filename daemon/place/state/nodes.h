/* SPDX-License-Identifier: Apache-2.0
 *
 * Nodes by place and by name, and what of their CPU and memory is used.
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
    uint64_t used_cpu_milli, used_bytes; /* may be above: what runs already is taken as it is */
    uint32_t gpu_first, gpu_count, make;
    uint32_t jobs; /* tasks on it */
    enum place_kind side;
    bool here, shut, kept;
    /* Of one search, 0 between searches. */
    uint64_t met;   /* its GPUs, as bits */
    uint32_t taken; /* tasks */
    uint32_t next_free;
};

struct nodes {
    struct node *at;
    uint32_t used, capacity, count, free;
    struct slotmap ids;
};

void nodes_init(struct nodes *n);
void nodes_finish(struct nodes *n);
/* So many more. 0 or -ENOMEM. */
int nodes_reserve(struct nodes *n, uint64_t more);

/* NULL, or why there can be no such node. */
const char *nodes_fault(const struct place_node *node, uint32_t curves);

/* NODES_NONE: there is none. */
uint32_t nodes_find(const struct nodes *n, uint64_t id);
/* Room must be reserved; its GPUs and make are the caller's to say. */
uint32_t nodes_add(struct nodes *n, const struct place_node *node);
void nodes_remove(struct nodes *n, uint32_t place);

/* CPU and memory that are free. */
uint64_t nodes_cpu_milli(const struct node *n);
uint64_t nodes_bytes(const struct node *n);
/* Whether `tasks` of a job would have CPU and memory, (5). */
bool nodes_hold(const struct node *n, const struct demand *d, uint32_t tasks);

#endif
