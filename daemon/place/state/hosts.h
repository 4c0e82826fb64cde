/* SPDX-License-Identifier: Apache-2.0
 *
 * Nodes of two GPUs and more, for tasks that want several of one node, under policies that fill
 * GPUs up: the index of GPUs (index.h) shows all first that fit one by one, on nodes without so
 * many. A treap for each kind of GPU, in the order in which nodes came, and one for nodes of
 * several kinds; each branch knows the best that a node in it has.
 *
 * Owner: struct place. Thread: its owner's.
 */
#ifndef DAEMON_PLACE_STATE_HOSTS_H
#define DAEMON_PLACE_STATE_HOSTS_H

#include "daemon/place/state/gpus.h"
#include "daemon/place/state/index.h"
#include "daemon/place/state/nodes.h"

#define HOSTS_CLASSES 4u /* tasks of 2, 4, 8 and 16 GPUs and more */
#define HOSTS_MIXED UINT32_MAX

/* Of the GPUs of a node that somebody may come to, and the best of a branch. */
struct hosts_span {
    struct gpus_span gpus;
    /* So many of them use no more than this, by class; UINT64_MAX: there are not so many. */
    uint64_t ppm[HOSTS_CLASSES], bytes[HOSTS_CLASSES];
    /* So many use no less than this; 0: there are not so many. */
    uint64_t full_ppm[HOSTS_CLASSES], full_bytes[HOSTS_CLASSES];
    /* What the last of so many uses, whichever these are: as bits, 1/64 of its memory each; of
     * nodes whose GPUs have the same. */
    uint64_t some_bytes[HOSTS_CLASSES];
};

struct host { /* by the node's place */
    uint32_t kind, left, right, rank;
    uint64_t turn; /* of its first GPU */
    bool in;
    struct hosts_span own, span;
};

struct hosts {
    struct host *at;
    uint32_t capacity;
    uint32_t *roots; /* by kind */
    uint32_t roots_count, roots_capacity;
    uint32_t mixed; /* a root */
};

void hosts_init(struct hosts *h);
void hosts_finish(struct hosts *h);
/* For so many places of nodes and so many kinds. 0 or -ENOMEM. */
int hosts_reserve(struct hosts *h, uint64_t nodes, uint64_t kinds);

/* A node that came, with its GPUs; room must be reserved. */
void hosts_add(struct hosts *h, const struct nodes *n, const struct gpus *g, uint32_t node);
void hosts_remove(struct hosts *h, uint32_t node);
/* Its GPUs, or what the node has beside them, have changed. */
void hosts_update(struct hosts *h, const struct nodes *n, const struct gpus *g, uint32_t node);

/* Of a task of so many GPUs, two or more. */
static inline uint32_t hosts_class(uint32_t gpus) {
    return gpus < 4 ? 0 : gpus < 8 ? 1 : gpus < 16 ? 2 : 3;
}

/* The most that the last of so many may use, of GPUs with so much memory that each use `most_bytes`
 * at most; or somewhat above it. UINT64_MAX: no node has so many. */
uint64_t hosts_below(const struct hosts_span *span, uint32_t class, uint64_t memory_bytes,
                     uint64_t most_bytes);

/* NULL, or what does not hold. */
const char *hosts_check(const struct hosts *h, const struct nodes *n, const struct gpus *g);

#endif
