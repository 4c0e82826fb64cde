/* SPDX-License-Identifier: Apache-2.0
 *
 * Index of nodes with two or more GPUs, for tasks that want several GPUs of one node, under
 * policies that fill GPUs. The index of GPUs (index.h) would first return all GPUs that fit
 * individually, on nodes without enough of them. There is one treap per kind of GPU, in order of
 * arrival, and one for nodes with mixed kinds. Each branch stores the best values of its nodes.
 *
 * Owner: struct place. Thread: its owner's.
 */
#ifndef DAEMON_PLACE_STATE_HOSTS_H
#define DAEMON_PLACE_STATE_HOSTS_H

#include "daemon/place/state/gpus.h"
#include "daemon/place/state/index.h"
#include "daemon/place/state/nodes.h"

#define HOSTS_CLASSES 4u /* tasks of 2, 4, 8, and 16 or more GPUs */
#define HOSTS_MIXED UINT32_MAX

/* Summary of a node's open GPUs, and the best values of a branch. */
struct hosts_span {
    struct gpus_span gpus;
    /* Per class of k GPUs: k GPUs use at most this; UINT64_MAX if there are fewer than k. */
    uint64_t ppm[HOSTS_CLASSES], bytes[HOSTS_CLASSES];
    /* Per class of k GPUs: k GPUs use at least this; 0 if there are fewer than k. */
    uint64_t full_ppm[HOSTS_CLASSES], full_bytes[HOSTS_CLASSES];
    /* Per class of k GPUs: bit set of the possible usage of the k-th GPU, over all choices of GPUs;
     * one bit is 1/64 of its memory. Only for nodes whose GPUs have equal memory. */
    uint64_t some_bytes[HOSTS_CLASSES];
};

struct host { /* indexed by the node's index */
    uint32_t kind, left, right, rank;
    uint64_t turn; /* turn of its first GPU */
    bool in;
    struct hosts_span own, span;
};

struct hosts {
    struct host *at;
    uint32_t capacity;
    uint32_t *roots; /* per kind */
    uint32_t roots_count, roots_capacity;
    uint32_t mixed; /* root of the treap of mixed nodes */
};

void hosts_init(struct hosts *h);
void hosts_finish(struct hosts *h);
/* Reserves memory for this many nodes and kinds. Returns 0 or -ENOMEM. */
int hosts_reserve(struct hosts *h, uint64_t nodes, uint64_t kinds);

/* Adds a new node with its GPUs; memory must be reserved. */
void hosts_add(struct hosts *h, const struct nodes *n, const struct gpus *g, uint32_t node);
void hosts_remove(struct hosts *h, uint32_t node);
/* Called when the node's GPUs or its other resources have changed. */
void hosts_update(struct hosts *h, const struct nodes *n, const struct gpus *g, uint32_t node);

/* The class of a task with this many GPUs, two or more. */
static inline uint32_t hosts_class(uint32_t gpus) {
    return gpus < 4 ? 0 : gpus < 8 ? 1 : gpus < 16 ? 2 : 3;
}

/* For GPUs of this memory size that use at most `most_bytes` each: the most that the last GPU of a
 * task of this class may use, or an upper estimate. UINT64_MAX if no node has enough such GPUs. */
uint64_t hosts_below(const struct hosts_span *span, uint32_t class, uint64_t memory_bytes,
                     uint64_t most_bytes);

/* NULL, or a violated invariant. */
const char *hosts_check(const struct hosts *h, const struct nodes *n, const struct gpus *g);

#endif
